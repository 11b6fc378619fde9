"""One bad object ends nothing."""

import asyncio
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.auth.world import NOW
from tests.apiserver.housekeeping.memorycluster import MemoryCluster, settle
from tests.apiserver.housekeeping.test_crds import crd
from tests.apiserver.housekeeping.test_csr import AUTHORITY
from tests.apiserver.rest.world import World
from tests.engine.fakes import ManualClock

from flexlet.apiserver.admission.resource_quota import counting_of
from flexlet.apiserver.housekeeping import clusterroles, csr, events, namespaces, serviceaccounts
from flexlet.apiserver.housekeeping.crdcleanup import CRDS
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apiserver.housekeeping.follow import follow
from flexlet.apiserver.housekeeping.isolation import Isolation, key_of
from flexlet.apiserver.housekeeping.quota import QuotaKeeper
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.rest import finished
from flexlet.apiserver.store import Store
from flexlet.core.faults import Faults
from flexlet.ports.cluster import NAMESPACES, PODS

PLURALS = (
    *("namespaces", "serviceaccounts", "configmaps", "clusterroles", "certificatesigningrequests", "events"),
    *("resourcequotas", "pods"),
)
KEYS = st.sampled_from(
    [
        *("name", "spec", "status", "labels", "request", "signerName", "conditions", "type", "rules", "usages"),
        *("aggregationRule", "clusterRoleSelectors", "deletionTimestamp", "finalizers", "lastTimestamp"),
        *("hard", "scopes", "scopeSelector", "matchExpressions", "containers", "resources", "requests", "cpu"),
        *("group", "names", "kind", "plural", "versions", "schema", "openAPIV3Schema", "properties", "storage"),
        *("additionalPrinterColumns", "jsonPath", "pattern", "x-kubernetes-validations", "rule", "storedVersions"),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8)
COUNTING = counting_of({})
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


async def test_a_bad_object_is_tried_again_later_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """The others are handled at once; the bad one again after its back-off, which doubles."""
    cluster, clock, faults = MemoryCluster(), ManualClock(), Faults()
    seen: list[str] = []

    async def handle(_event: str, value: bytes) -> None:
        seen.append(key_of(value))
        if seen[-1] == "bad":
            raise KeyError("spec")

    for name in ("bad", "good"):
        cluster.put("namespaces", {"metadata": {"name": name}})
    task = asyncio.create_task(follow(cluster, NAMESPACES, handle, Isolation("test", clock, faults)))
    await settle()
    assert seen == ["bad", "good"]
    assert (faults.count("test"), faults.held("test")) == (1, frozenset({"namespaces/bad"}))
    for _ in range(4):
        clock.advance(1.0)
        await settle()
    assert seen == ["bad", "good", "bad", "bad"]
    assert [record.__dict__["object"] for record in caplog.records] == ["namespaces/bad"] * 3
    task.cancel()
    assert faults.render().splitlines()[2] == 'flexlet_loop_faults_total{loop="test"} 3'


@given(st.lists(st.tuples(st.sampled_from(PLURALS), VALUES), max_size=6))
def test_no_stored_object_ends_a_loop(objects: list[tuple[str, Any]]) -> None:
    """Whatever lies in the store, every loop goes on."""
    asyncio.run(_outlive(objects))


async def _outlive(objects: list[tuple[str, Any]]) -> None:
    cluster, clock = MemoryCluster(), ManualClock(NOW)
    for index, (plural, value) in enumerate(objects):
        body = value if isinstance(value, dict) else {"spec": value}
        cluster.put(plural, {**body, "metadata": {"name": f"o{index}", "namespace": "", "labels": value}})
    loops = [
        serviceaccounts.repair(cluster, "PEM", clock),
        clusterroles.aggregate(cluster, clock),
        csr.approve_and_sign(cluster, AUTHORITY, clock),
        events.expire(cluster, clock),
        namespaces.terminate(cluster, clock, tuple),
        QuotaKeeper(cluster, clock, lambda: (PODS, NAMESPACES), COUNTING).run(),
    ]
    tasks = [asyncio.create_task(loop) for loop in loops]
    for _ in range(3):
        await settle()
        clock.advance(2.0)
    await settle()
    assert [task.exception() for task in tasks if task.done()] == []
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@given(st.lists(VALUES, min_size=1, max_size=4))
@settings(max_examples=40)
def test_no_stored_definition_ends_the_start(values: list[Any]) -> None:
    """Whatever lies among the definitions, those that are good are served, at the start and after it."""
    asyncio.run(_serve(values))


async def _serve(values: list[Any]) -> None:
    store = await Store.open(None)
    world = World(store)
    await world.create(CRDS.plural, crd(), group=CRDS.group)
    definitions = Definitions(world.rest, LocalCluster(world.rest), ManualClock(NOW))
    kind = world.registry.lookup(CRDS.group, CRDS.version, CRDS.plural)
    assert kind is not None
    for index, value in enumerate(values):
        body = value if isinstance(value, dict) else {"spec": value}
        odd = {**body, "metadata": {"name": f"a{index}"}}
        await store.create(kind.storage_bucket, f"a{index}", partial(finished.encode, kind, odd))
    await definitions.load()
    assert world.registry.lookup("example.com", "v1", "widgets") is not None
    task = asyncio.create_task(definitions.run())
    await settle()
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()
