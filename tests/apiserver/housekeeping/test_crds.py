"""Definitions at work, on a pipeline in memory: served at once, changed in place, gone after their objects."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.apiserver.rest.world import NOW, TIME, World, value

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import LOOPBACK
from flexlet.apiserver.housekeeping.crdcleanup import CRDS
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.store import Store
from flexlet.ports.cluster import Ref

Object = dict[str, Any]
DEFINITIONS = {"group": "apiextensions.k8s.io"}
PLURAL = "customresourcedefinitions"
WIDGETS = Ref("example.com", "v1", "widgets")
FREE = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
HELD: Object = {"finalizers": ["example.com/held"]}


class QuickClock:
    """Never waits longer than a turn of the loop."""

    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.sleep(0.001)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    store = await Store.open(None)
    yield World(store)
    await store.close()


@pytest.fixture
def definitions(world: World) -> Definitions:
    return Definitions(world.rest, LocalCluster(world.rest), QuickClock())


@asynccontextmanager
async def running(definitions: Definitions) -> AsyncIterator[None]:
    task = asyncio.create_task(definitions.run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 the store tells watchers, not tests
            await asyncio.sleep(0.001)


def crd(kind: str = "Widget", group: str = "example.com", **more: Any) -> Object:
    plural = f"{kind.lower()}s"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": FREE}}
    names = {"plural": plural, "kind": kind, **more.pop("names", {})}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": more.pop("versions", [version])}
    return {"metadata": {"name": f"{plural}.{group}", **more}, "spec": spec}


def version(name: str, schema: Object = FREE, **more: Any) -> Object:
    return {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}, **more}


def widget(name: str = "w", spec: Object | None = None, **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "spec": spec or {}}


def served(world: World, version: str = "v1", plural: str = "widgets") -> Kind | None:
    return world.registry.lookup("example.com", version, plural)


def conditions(obj: Object) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in obj["status"]["conditions"]}


def stored(world: World, name: str = "widgets.example.com") -> Object:
    return world.get(PLURAL, name, **DEFINITIONS)


async def test_a_definition_is_served_when_its_creation_is_answered(
    world: World, definitions: Definitions
) -> None:
    """The answer shows the definition as it was stored; a moment later its status says that it is served."""
    answer = await world.create(PLURAL, crd(), **DEFINITIONS)
    assert answer["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert served(world) is not None
    accepted = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    assert stored(world)["status"] == {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": TIME,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": TIME,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": accepted,
        "storedVersions": ["v1"],
    }
    del definitions


async def test_a_name_belongs_to_who_comes_first_until_it_goes(world: World, definitions: Definitions) -> None:
    async with running(definitions):
        await world.create(PLURAL, crd(names={"shortNames": ["w"]}), **DEFINITIONS)
        await world.create(PLURAL, crd("Wall", names={"shortNames": ["w"]}), **DEFINITIONS)
        await until(lambda: bool(stored(world, "walls.example.com")["status"]["conditions"]))
        second = stored(world, "walls.example.com")
        assert conditions(second) == {
            "NamesAccepted": ("False", "ShortNamesConflict"),
            "Established": ("False", "NotAccepted"),
        }
        assert second["status"]["conditions"][0]["message"] == '"w" is already in use'
        assert served(world, plural="walls") is None
        await LocalCluster(world.rest).delete(CRDS, "", "widgets.example.com")
        await until(lambda: served(world, plural="walls") is not None)
        await until(lambda: conditions(stored(world, "walls.example.com"))["NamesAccepted"][0] == "True")
    assert conditions(stored(world, "walls.example.com"))["NamesAccepted"] == ("True", "NoConflicts")


async def test_a_definition_goes_after_its_objects(world: World, definitions: Definitions) -> None:
    cluster = LocalCluster(world.rest)
    async with running(definitions):
        await world.create(PLURAL, crd(), **DEFINITIONS)
        await cluster.create(WIDGETS, "ns", widget("free"))
        await cluster.create(WIDGETS, "ns", widget("held", **HELD))
        await cluster.delete(CRDS, "", "widgets.example.com")
        await until(lambda: conditions(stored(world))["Terminating"] == ("True", "InstanceDeletionInProgress"))
        await until(lambda: len(world.store.list("example.com/widgets")) == 1)
        with pytest.raises(status.Forbidden, match="create not allowed while custom resource definition is"):
            await cluster.create(WIDGETS, "ns", widget("late"))
        assert stored(world)["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        await cluster.patch(WIDGETS, "ns", "held", {"metadata": {"finalizers": None}})
        await until(lambda: served(world) is None)
    assert world.store.get("apiextensions.k8s.io/customresourcedefinitions", "widgets.example.com") is None
    with pytest.raises(status.NotFound):
        await cluster.list(WIDGETS)


async def test_a_definition_that_was_never_served_just_goes(world: World, definitions: Definitions) -> None:
    async with running(definitions):
        await world.create(PLURAL, crd(), **DEFINITIONS)
        await world.create(PLURAL, crd("Wall", names={"singular": "widget"}), **DEFINITIONS)
        await LocalCluster(world.rest).delete(CRDS, "", "walls.example.com")
        bucket = "apiextensions.k8s.io/customresourcedefinitions"
        await until(lambda: world.store.get(bucket, "walls.example.com") is None)
    assert served(world) is not None


async def test_what_is_stored_is_served_after_a_start(world: World, definitions: Definitions) -> None:
    await world.create(PLURAL, crd(), **DEFINITIONS)
    await LocalCluster(world.rest).create(WIDGETS, "ns", widget())
    again = World(world.store)
    await Definitions(again.rest, LocalCluster(again.rest), QuickClock()).load()
    assert msgspec.json.decode(await LocalCluster(again.rest).get(WIDGETS, "ns", "w"))["kind"] == "Widget"
    del definitions


async def test_a_change_ends_watches_and_moves_versions(world: World, definitions: Definitions) -> None:
    async with running(definitions):
        await world.create(PLURAL, crd(), **DEFINITIONS)
        generation = world.registry.generation
        watch = LocalCluster(world.rest).watch(WIDGETS, "0")
        following = asyncio.create_task(anext(watch, None))
        await asyncio.sleep(0.01)
        changed = stored(world)
        changed["spec"]["versions"].append(version("v2"))
        await LocalCluster(world.rest).update(CRDS, "", "widgets.example.com", changed)
        assert await asyncio.wait_for(following, 5) is None
        assert served(world, "v2") is not None
        assert world.registry.generation > generation
        changed = stored(world)
        changed["spec"]["versions"][1]["served"] = False
        await LocalCluster(world.rest).update(CRDS, "", "widgets.example.com", changed)
        await until(lambda: served(world, "v2") is None)
        assert served(world) is not None


async def test_old_objects_are_read_by_the_schema_of_today(world: World, definitions: Definitions) -> None:
    """They show new defaults and lose fields nobody knows, though nobody wrote them again."""
    cluster = LocalCluster(world.rest)
    async with running(definitions):
        await world.create(PLURAL, crd(), **DEFINITIONS)
        before = msgspec.json.decode(await cluster.create(WIDGETS, "ns", widget(spec={"gone": 1, "kept": 2})))
        changed = stored(world)
        properties = {"kept": {"type": "integer"}, "fresh": {"type": "string", "default": "new"}}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        changed["spec"]["versions"] = [
            version("v1", schema, storage=True, served=False),
            version("v2", schema),
        ]
        await cluster.update(CRDS, "", "widgets.example.com", changed)
        await until(lambda: served(world, "v2") is not None)
        newer = Ref("example.com", "v2", "widgets")
        now = msgspec.json.decode(await cluster.get(newer, "ns", "w"))
        listed = msgspec.json.decode((await cluster.list(newer)).items[0])
    assert now == {**before, "apiVersion": "example.com/v2", "spec": {"kept": 2, "fresh": "new"}}
    assert listed == now
    row = world.store.get("example.com/widgets", "ns/w")
    assert row is not None
    assert msgspec.json.decode(row.value) == before


async def test_the_server_s_own_resources_cannot_be_taken_over(world: World, definitions: Definitions) -> None:
    """A definition of leases is stored, but neither served nor does its end delete leases."""
    approved = {"annotations": {"api-approved.kubernetes.io": "unapproved, a test"}}
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    async with running(definitions):
        await world.create("leases", lease)
        await world.create(PLURAL, crd("Lease", "coordination.k8s.io", **approved), **DEFINITIONS)
        assert not world.kind("leases").custom
        await LocalCluster(world.rest).delete(CRDS, "", "leases.coordination.k8s.io")
        bucket = "apiextensions.k8s.io/customresourcedefinitions"
        await until(lambda: not world.store.list(bucket))
    assert await world.names("leases") == ["ns/l"]


async def test_scale_goes_where_the_definition_says(world: World, definitions: Definitions) -> None:
    paths = {"specReplicasPath": ".spec.size.wanted", "statusReplicasPath": ".status.there"}
    one = version("v1", storage=True, subresources={"scale": paths})
    await world.create(PLURAL, crd(versions=[one]), **DEFINITIONS)
    cluster = LocalCluster(world.rest)
    await cluster.create(WIDGETS, "ns", widget(spec={"size": {"wanted": 1}}))
    kind = served(world)
    assert kind is not None
    call = Call(user=LOOPBACK, kind=kind, namespace="ns", name="w", subresource="scale")
    scale = value(await world.rest.handle(Handled("patch", call, patch=Patch("merge", {"spec": {"replicas": 5}}))))
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 5}, {"replicas": 0})
    obj = msgspec.json.decode(await cluster.get(WIDGETS, "ns", "w"))
    assert (obj["spec"], obj["metadata"]["generation"]) == ({"size": {"wanted": 5}}, 2)
    assert value(await world.rest.handle(Handled("get", call))) == scale
    del definitions


async def test_a_scale_without_a_number_says_so(world: World, definitions: Definitions) -> None:
    paths = {"specReplicasPath": ".spec.wanted", "statusReplicasPath": ".status.there"}
    one = version("v1", storage=True, subresources={"scale": paths})
    await world.create(PLURAL, crd(versions=[one]), **DEFINITIONS)
    await LocalCluster(world.rest).create(WIDGETS, "ns", widget())
    kind = served(world)
    assert kind is not None
    call = Call(user=LOOPBACK, kind=kind, namespace="ns", name="w", subresource="scale")
    with pytest.raises(status.ApiError, match=r'the spec replicas field ".spec.wanted" does not exist'):
        await world.rest.handle(Handled("get", call))
    with pytest.raises(status.BadRequest, match=r'the spec replicas field ".spec.wanted" cannot be empty'):
        await world.rest.handle(Handled("patch", call, patch=Patch("merge", {"metadata": {"labels": {}}})))
    with pytest.raises(status.BadRequest, match="does not match the name on the URL"):
        await world.rest.handle(Handled("update", call, {"metadata": {"name": "x"}, "spec": {"replicas": 1}}))
    del definitions
