"""Every namespace has its default account and the bundle to verify the server with."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.auth.world import one
from tests.apiserver.housekeeping.memorycluster import MemoryCluster, settle
from tests.engine.fakes import FakeClock

from flexlet.api import status
from flexlet.apiserver.housekeeping.serviceaccounts import (
    CONFIG_MAPS,
    SERVICE_ACCOUNTS,
    companions,
    repair,
)

PEM = "<pem certificate>\n"


def namespace(name: str, **metadata: Any) -> Any:
    return {"metadata": {"name": name, **metadata}}


@contextlib.asynccontextmanager
async def running(cluster: MemoryCluster) -> AsyncIterator[None]:
    task = asyncio.create_task(repair(cluster, PEM, FakeClock()))
    await settle()
    yield
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_companions_are_the_recorded_objects() -> None:
    """What a controller manager makes, apart from what the server sets."""
    server_set = {"uid", "resourceVersion", "creationTimestamp"}
    recorded = [one("admission", seq)["response_body"] for seq in (110, 109)]
    for obj in recorded:
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in server_set}
    assert [placed.obj for placed in companions("rec-adm", PEM)] == recorded
    assert [placed.bucket for placed in companions("rec-adm", PEM)] == ["serviceaccounts", "configmaps"]


async def test_namespaces_get_both_before_and_after_the_start() -> None:
    """Those that are there, those that come, but not those that go."""
    cluster = MemoryCluster()
    cluster.put("namespaces", namespace("old"))
    cluster.put("namespaces", namespace("going", deletionTimestamp="2027-01-15T08:00:00Z"))
    async with running(cluster):
        cluster.put("namespaces", namespace("new"))
        await settle()
    assert sorted(cluster.by_key("serviceaccounts")) == ["new/default", "old/default"]
    assert sorted(cluster.by_key("configmaps")) == ["new/kube-root-ca.crt", "old/kube-root-ca.crt"]


async def test_what_is_deleted_comes_back_and_what_is_changed_is_corrected() -> None:
    """Pods rely on both; other objects are left alone."""
    cluster = MemoryCluster()
    cluster.put("namespaces", namespace("ns"))
    async with running(cluster):
        await cluster.delete(SERVICE_ACCOUNTS, "ns", "default")
        await cluster.delete(CONFIG_MAPS, "ns", "kube-root-ca.crt")
        await settle()
        assert sorted(cluster.by_key("serviceaccounts")) == ["ns/default"]
        changed = cluster.by_key("configmaps")["ns/kube-root-ca.crt"] | {"data": {"ca.crt": "x", "more": "y"}}
        cluster.put("configmaps", changed, "MODIFIED")
        mine = {"metadata": {"name": "mine", "namespace": "ns"}, "data": {"kube-root-ca.crt": "x"}}
        cluster.put("configmaps", mine)
        await settle()
    assert cluster.by_key("configmaps")["ns/kube-root-ca.crt"]["data"] == {"ca.crt": PEM}
    assert cluster.by_key("configmaps")["ns/mine"]["data"] == {"kube-root-ca.crt": "x"}


async def test_the_loop_survives_a_lost_watch() -> None:
    """After the end of a stream everything is listed again."""
    cluster = MemoryCluster()
    async with running(cluster):
        cluster.end_watches()
        await settle()
        cluster.put("namespaces", namespace("ns"))
        await settle()
    assert sorted(cluster.by_key("serviceaccounts")) == ["ns/default"]


@pytest.mark.parametrize("code", [403, 404])
async def test_a_namespace_on_its_way_out_is_nobodys_fault(code: int) -> None:
    """The refusal of a create is tolerated."""
    cluster = MemoryCluster()
    cluster.refuse["create"] = status.failure(code, "x", "it is going away")
    async with running(cluster):
        cluster.put("namespaces", namespace("ns"))
        await settle()
        cluster.put("namespaces", namespace("next"))
        await settle()
    assert cluster.writes == []
