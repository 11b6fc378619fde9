"""What admission gets to see and when: before names are made, before paths put things back, refusal by refusal."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.rest.world import World, config

from flexlet.api import status
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.store import Store


class Witness(Plugin):
    """Writes down what it sees, and changes pods if told to."""

    def __init__(self, **spec: Any) -> None:
        self._spec = spec
        self.mutating: list[dict[str, Any]] = []
        self.validating: list[dict[str, Any]] = []

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        del view
        self.mutating.append(_shown(request))
        if request.obj is not None and self._spec and request.operation == "UPDATE":
            request.obj["spec"].update(self._spec)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        del view
        self.validating.append(_shown(request))


def _shown(request: AdmissionRequest) -> dict[str, Any]:
    obj = request.obj or {}
    metadata = obj.get("metadata", {})
    return {"name": metadata.get("name"), "uid": "uid" in metadata, "spec": obj.get("spec", {}).get("taints")}


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await Store.open(None)
    yield opened
    await opened.close()


async def test_a_name_is_generated_after_mutation_and_before_validation(store: Store) -> None:
    """A mutating plugin sees the prefix only, and no identity."""
    witness = Witness()
    world = World(store, [witness])
    created = await world.create("configmaps", {"metadata": {"generateName": "a-"}})
    assert witness.mutating == [{"name": None, "uid": False, "spec": None}]
    assert witness.validating == [{"name": created["metadata"]["name"], "uid": True, "spec": None}]


async def test_mutation_sees_what_a_status_path_is_going_to_ignore(store: Store) -> None:
    """A node that sets its taints through /status is seen doing so, though they would not have been stored."""
    witness = Witness()
    world = World(store, [witness])
    node = await world.create("nodes", {"metadata": {"name": "n"}})
    taints = [{"key": "a", "effect": "NoSchedule"}]
    changed = await world.update("nodes", {**node, "spec": {"taints": taints}}, "status")
    assert witness.mutating[-1]["spec"] == taints
    assert witness.validating[-1]["spec"] is None
    assert changed["spec"] == {}


async def test_what_mutation_changes_counts_towards_the_generation(store: Store) -> None:
    world = World(store, [Witness(activeDeadlineSeconds=5)])
    await world.pod("p")
    assert (await world.patch("pods", "p", {"metadata": {"labels": {"a": "b"}}}))["metadata"]["generation"] == 2


async def test_a_refusal_comes_before_a_stale_version(store: Store) -> None:
    """403 of a mutating plugin, not 409: it is asked before the version is looked at."""

    class Refusing(Plugin):
        def mutate(self, request: AdmissionRequest, view: View) -> None:
            del view
            if request.operation == "UPDATE":
                raise status.forbidden("configmaps", "", request.name, "no")

    world = World(store, [Refusing()])
    await world.create("configmaps", config("a"))
    with pytest.raises(status.ApiError) as error:
        await world.update("configmaps", config("a", resourceVersion="99"))
    assert str(error.value) == 'configmaps "a" is forbidden: no'


async def test_managed_fields_are_not_kept(world: World) -> None:
    fields = [{"manager": "m", "operation": "Update", "apiVersion": "v1"}]
    created = await world.create("configmaps", config("a", managedFields=fields))
    changed = await world.patch("configmaps", "a", {"metadata": {"managedFields": fields}})
    assert "managedFields" not in created["metadata"]
    assert changed == created


async def test_watchers_see_a_finalized_object_as_it_was_stored(world: World) -> None:
    """The update that removes the last finalizer answers without it; the event shows the state before."""
    await world.create("configmaps", config("f", finalizers=["example.com/x"]))
    await world.delete("configmaps", "f")
    watch = world.watch("configmaps", resource_version=str(world.store.revision))
    answer = await world.patch("configmaps", "f", {"metadata": {"finalizers": None}})
    event = await watch.next()
    assert "finalizers" not in answer["metadata"]
    assert (event[0], event[1]["metadata"]["finalizers"]) == ("DELETED", ["example.com/x"])
