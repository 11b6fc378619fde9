import asyncio

import pytest
from tests.apiserver.rest.world import DRY, World, config, version

from flexlet.api import status
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.rest.update import MODIFIED
from flexlet.apiserver.store import Store

OTHER_UID = "11111111-1111-1111-1111-111111111111"


async def test_put_replaces_and_keeps_the_identity(world: World) -> None:
    created = await world.create("configmaps", config("a", {"k": "1"}, labels={"l": "1"}))
    body = config("a", {"k": "2"}, creationTimestamp="2000-01-01T00:00:00Z", generation=9)
    updated = await world.update("configmaps", body)
    kept = {key: created["metadata"][key] for key in ("name", "namespace", "uid", "creationTimestamp")}
    assert updated["metadata"] == {**kept, "resourceVersion": "2"}
    assert updated["data"] == {"k": "2"}
    assert world.get("configmaps", "a") == updated


async def test_a_write_without_change_is_no_write(world: World) -> None:
    created = await world.create("configmaps", config("a", {"k": "1"}))
    again = await world.update("configmaps", {"metadata": {"name": "a"}, "data": {"k": "1"}})
    assert again == created
    assert world.store.revision == version(created)


async def test_a_stale_version_is_a_conflict(world: World) -> None:
    created = await world.create("configmaps", config("a"))
    await world.patch("configmaps", "a", {"data": {"k": "1"}})
    with pytest.raises(status.Conflict) as error:
        await world.update("configmaps", created)
    assert str(error.value) == f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}'


async def test_another_uid_in_a_whole_object_is_a_conflict(world: World) -> None:
    created = await world.create("configmaps", config("a"))
    with pytest.raises(status.Conflict) as error:
        await world.update("configmaps", config("a", uid=OTHER_UID))
    assert str(error.value) == (
        'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, '
        "Key: /registry/configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {OTHER_UID}, UID in object meta: {created['metadata']['uid']}"
    )


async def test_some_kinds_insist_on_a_version(world: World) -> None:
    await world.create("leases", config("l"))
    with pytest.raises(status.Invalid) as error:
        await world.update("leases", config("l"))
    assert str(error.value) == (
        'leases.coordination.k8s.io "l" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )


async def test_put_creates_for_the_kinds_that_allow_it(world: World) -> None:
    answer = await world.rest.update(world.call("leases", "l"), config("l"))
    assert answer.code == 201
    with pytest.raises(status.NotFound):
        await world.update("configmaps", config("a"))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "the name of the object (a based on URL) was undeterminable: name must be provided"),
        ({"name": "b"}, "the name of the object (b) does not match the name on the URL (a)"),
    ],
)
async def test_the_body_must_name_the_object_of_the_url(
    world: World, metadata: dict[str, str], message: str
) -> None:
    await world.create("configmaps", config("a"))
    with pytest.raises(status.BadRequest) as error:
        await world.rest.update(world.call("configmaps", "a"), {"metadata": metadata})
    assert str(error.value) == message


async def test_a_dry_run_shows_the_change_under_the_old_version(world: World) -> None:
    created = await world.create("configmaps", config("a"))
    dry = await world.update("configmaps", config("a", {"k": "1"}), options=DRY)
    assert dry == {**created, "data": {"k": "1"}}
    assert world.get("configmaps", "a") == created


async def test_a_status_path_changes_status_only(world: World) -> None:
    pod = await world.pod("p")
    changed = {**pod, "spec": {**pod["spec"], "nodeName": "n"}, "status": {"phase": "Running"}}
    updated = await world.update("pods", changed, "status")
    assert updated["spec"] == pod["spec"]
    assert updated["status"]["phase"] == "Running"
    assert updated["metadata"]["generation"] == 1


class Slow(Plugin):
    """Lets other writes in between the read and the write."""

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        del request, view
        await asyncio.sleep(0)


async def test_racing_updates_without_a_version_all_happen() -> None:
    """Each is applied to what the others left: nobody's change is lost."""
    store = await Store.open(None)
    world = World(store, [Slow()])
    await world.create("configmaps", config("a", {}))
    patches = [{"data": {f"k{index}": "1"}} for index in range(8)]
    await asyncio.gather(*(world.patch("configmaps", "a", patch) for patch in patches))
    stored = world.get("configmaps", "a")
    await store.close()
    assert stored["data"] == {f"k{index}": "1" for index in range(8)}


async def test_racing_updates_with_a_version_have_one_winner() -> None:
    store = await Store.open(None)
    world = World(store, [Slow()])
    created = await world.create("configmaps", config("a"))
    bodies = [{**created, "data": {"k": str(index)}} for index in range(5)]
    results = await asyncio.gather(*(world.update("configmaps", body) for body in bodies), return_exceptions=True)
    await store.close()
    assert sum(isinstance(result, dict) for result in results) == 1
    assert sum(isinstance(result, status.Conflict) for result in results) == 4
