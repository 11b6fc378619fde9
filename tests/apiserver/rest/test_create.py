import pytest
from tests.apiserver.rest.world import DRY, TIME, World, config, version

from flexlet.api import status
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.rest import naming
from flexlet.apiserver.store import Store


async def test_the_server_gives_a_new_object_its_identity(world: World) -> None:
    sent = config("a", {"k": "1"}, uid="mine", creationTimestamp="2000-01-01T00:00:00Z", selfLink="x")
    sent["metadata"] |= {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 3}
    created = await world.create("configmaps", sent)
    uid = created["metadata"].pop("uid")
    assert len(uid) == 36
    assert uid != "mine"
    assert created == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "resourceVersion": "1",
            "creationTimestamp": TIME,
        },
        "data": {"k": "1"},
    }
    assert list(created) == ["kind", "apiVersion", "metadata", "data"]


async def test_a_taken_name_is_refused(world: World) -> None:
    await world.create("deployments", _deployment("d"))
    with pytest.raises(status.AlreadyExists) as error:
        await world.create("deployments", _deployment("d"))
    assert str(error.value) == 'deployments.apps "d" already exists'


async def test_an_object_of_another_namespace_is_refused(world: World) -> None:
    with pytest.raises(status.BadRequest) as error:
        await world.create("configmaps", config("a", namespace="other"))
    expected = "the namespace of the provided object does not match the namespace sent on the request"
    assert str(error.value) == expected


async def test_a_cluster_kind_loses_the_namespace_a_client_wrote(world: World) -> None:
    created = await world.create("nodes", config("n", namespace="other"))
    assert "namespace" not in created["metadata"]


async def test_a_version_on_create_is_an_error_of_the_store(world: World) -> None:
    with pytest.raises(status.ApiError) as error:
        await world.create("configmaps", config("a", resourceVersion="7"))
    assert (error.value.code, error.value.reason) == (500, "")
    assert str(error.value) == "resourceVersion should not be set on objects to be created"


async def test_what_breaks_rules_is_not_stored(world: World) -> None:
    with pytest.raises(status.Invalid):
        await world.create("configmaps", config("Not_A_Name"))
    assert await world.names("configmaps") == []


async def test_a_dry_run_does_everything_but_store(world: World) -> None:
    """Uid and time are there, a resourceVersion is not; a taken name is still refused."""
    dry = await world.create("configmaps", config("a"), options=DRY)
    assert "resourceVersion" not in dry["metadata"]
    assert {"uid", "creationTimestamp"} <= set(dry["metadata"])
    assert await world.names("configmaps") == []
    await world.create("configmaps", config("a"))
    with pytest.raises(status.AlreadyExists):
        await world.create("configmaps", config("a"), options=DRY)


async def test_a_generated_name_keeps_its_base_and_fits(world: World) -> None:
    created = await world.create("configmaps", {"metadata": {"generateName": "base-" + "x" * 70}})
    name = created["metadata"]["name"]
    assert name.startswith(("base-" + "x" * 70)[: naming.MAX_GENERATED_BASE])
    assert len(name) == naming.MAX_GENERATED_BASE + naming.SUFFIX_LENGTH
    assert set(name[-naming.SUFFIX_LENGTH :]) <= set(naming.SUFFIX_ALPHABET)


async def test_a_generated_name_that_is_taken_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["x-aaaaa", "x-aaaaa", "x-aaaaa", "x-bbbbb"])
    monkeypatch.setattr(naming, "generated_name", lambda _base: next(names))
    first = await world.create("configmaps", {"metadata": {"generateName": "x-"}})
    second = await world.create("configmaps", {"metadata": {"generateName": "x-"}})
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("x-aaaaa", "x-bbbbb")


async def test_a_name_that_stays_taken_ends_in_a_conflict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "generated_name", lambda base: f"{base}same")
    await world.create("configmaps", {"metadata": {"generateName": "x-"}})
    with pytest.raises(status.AlreadyExists):
        await world.create("configmaps", {"metadata": {"generateName": "x-"}})


class Marker(Plugin):
    """Writes what it saw into the object, and warns."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        assert view.get("configmaps", "ns", "other") is None
        self.seen.append(("mutate", request.operation))
        if request.obj is not None:
            request.obj["data"] = {"seen": request.name}
        request.warnings.append("careful")

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        del view
        self.seen.append(("validate", request.operation))


async def test_admission_sees_every_write_and_may_change_it() -> None:
    store, marker = await Store.open(None), Marker()
    world = World(store, [marker])
    call = world.call("configmaps")
    created = await world.rest.create(call, config("a"))
    assert b'"data":{"seen":"a"}' in created.value
    await world.delete("configmaps", "a")
    await store.close()
    assert marker.seen == [
        ("mutate", "CREATE"),
        ("validate", "CREATE"),
        ("mutate", "DELETE"),
        ("validate", "DELETE"),
    ]
    assert call.warnings == ["careful"]


async def test_versions_of_the_store_are_one_sequence(world: World) -> None:
    first = await world.create("configmaps", config("a"))
    second = await world.create("nodes", config("n"))
    assert version(second) == version(first) + 1


def _deployment(name: str) -> dict[str, object]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


async def test_what_etcd_would_not_take_is_not_stored(world: World) -> None:
    """A 500 without a reason, as upstream gives it; a dry run stores nothing and says nothing."""
    large = config(
        "a", {}, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p" * 200, "uid": "u" * 50}]
    )
    large["metadata"]["ownerReferences"] *= 12_000
    with pytest.raises(status.ApiError) as error:
        await world.create("configmaps", large)
    assert status.as_dict(error.value.status) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "etcdserver: request is too large",
        "code": 500,
    }
