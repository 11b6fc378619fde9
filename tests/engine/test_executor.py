"""From actions to calls, from answers to observations."""

import msgspec
import pytest
from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.api import status
from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, LookUp, PatchObject, RecordEvent
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished
from flexlet.engine.executor import Executor
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import Ref

PODS = ("", "v1", "pods")
POD = {"metadata": {"name": "a", "namespace": "default"}}
ABOUT = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "namespace": "default", "name": "web", "uid": "u"}


def event(message: str) -> RecordEvent:
    return RecordEvent(about=ABOUT, type="Normal", reason="R", message=message, component="c")


async def run(cluster: FakeCluster, *actions: ApiAction) -> list[Observation]:
    return await Executor(cluster, Recorder(cluster, FakeClock())).run(actions)


async def test_a_created_object_comes_back_with_name_and_revision() -> None:
    cluster = FakeCluster()
    body = {"metadata": {"generateName": "web-"}}
    [answer] = await run(cluster, CreateObject(ref=PODS, namespace="default", body=body))
    assert isinstance(answer, Seen)
    assert answer.view is not None
    assert (answer.ref, answer.revision, answer.view.name) == (PODS, 1, "web-00000")
    assert msgspec.json.decode(answer.raw) == cluster.objects["pods", "default", "web-00000"]


async def test_posting_to_a_subresource_is_not_an_object_seen() -> None:
    cluster = FakeCluster()
    binding = CreateObject(ref=PODS, namespace="default", body={}, path="a/binding")
    assert await run(cluster, binding) == []
    assert cluster.log == [("create", "pods", "default", "a/binding")]


async def test_the_event_of_a_create_names_what_the_server_named() -> None:
    cluster = FakeCluster()
    body = {"metadata": {"generateName": "web-"}}
    await run(cluster, CreateObject(ref=PODS, namespace="default", body=body, event=event("Created pod: {name}")))
    assert [one["message"] for one in cluster.all("events")] == ["Created pod: web-00000"]


async def test_nothing_is_told_of_what_was_refused() -> None:
    cluster = FakeCluster()
    cluster.refuse["create"] = status.forbidden("pods", "", "a", "exceeded quota")
    action = CreateObject(ref=PODS, namespace="default", body=POD, event=event("Created"))
    assert await run(cluster, action) == [
        Failed(action, 403, "Forbidden", 'pods "a" is forbidden: exceeded quota')
    ]
    assert cluster.all("events") == []


async def test_a_patch_comes_back_as_the_changed_object() -> None:
    cluster = FakeCluster()
    cluster.put("pods", POD)
    patch = PatchObject(ref=PODS, namespace="default", name="a", patch={"status": {"phase": "Running"}})
    [answer] = await run(cluster, patch)
    assert isinstance(answer, Seen)
    assert msgspec.json.decode(answer.raw)["status"] == {"phase": "Running"}


async def test_deletion_carries_its_preconditions() -> None:
    cluster = FakeCluster()
    cluster.put("pods", POD)
    deletion = DeleteObject(
        ref=PODS,
        namespace="default",
        name="a",
        uid="uid-a",
        resource_version="1",
        grace_seconds=0,
        propagation="Background",
    )
    assert await run(cluster, deletion) == []
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-a", "resourceVersion": "1"},
        "propagationPolicy": "Background",
    }
    assert cluster.log == [("delete", "pods", "default", "a", options)]


async def test_deleting_what_is_gone_is_success() -> None:
    deletion = DeleteObject(ref=PODS, namespace="default", name="a", uid="u")
    assert await run(FakeCluster(), deletion) == [Vanished(PODS, "default", "a", "u")]


async def test_a_look_up_answers_either_way() -> None:
    cluster = FakeCluster()
    raw = cluster.put("pods", POD)
    found, missing = await run(
        cluster,
        LookUp(ref=PODS, namespace="default", name="a"),
        LookUp(ref=PODS, namespace="default", name="b"),
    )
    assert isinstance(found, Seen)
    assert (found.raw, missing) == (raw, Absent(PODS, "default", "b"))


async def test_all_actions_run_even_if_some_are_refused() -> None:
    cluster = FakeCluster()
    cluster.put("pods", POD)
    patch = PatchObject(ref=PODS, namespace="default", name="missing", patch={})
    deletion = DeleteObject(ref=PODS, namespace="default", name="a")
    assert await run(cluster, patch, deletion) == [Failed(patch, 404, "NotFound", 'pods "missing" not found')]
    assert cluster.all("pods") == []


class BrokenCluster(FakeCluster):
    """A client that fails in a way nobody foresaw."""

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        if name == "bad":
            raise RuntimeError("odd")
        return await super().get(ref, namespace, name)


async def test_an_action_that_nobody_can_carry_out_is_not_all_of_them(caplog: pytest.LogCaptureFixture) -> None:
    """It comes back as a failure, which its controller backs off from; the others are done."""
    cluster = BrokenCluster()
    cluster.put("pods", POD)
    bad, good = (LookUp(ref=PODS, namespace="default", name=name) for name in ("bad", "a"))
    failed, seen = await run(cluster, bad, good)
    assert failed == Failed(bad, 500, "InternalError", "RuntimeError: odd")
    assert isinstance(seen, Seen)
    assert [record.exc_info is not None for record in caplog.records] == [True]
