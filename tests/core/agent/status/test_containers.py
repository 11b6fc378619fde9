"""The status of each container: states, memory of what the runtime forgot, reasons to wait."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, deleted, pod, record, run, runtime, sidecar

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.handlers import Lifecycle
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.api.nodepod.volumes import VolumeMount
from flexlet.core.agent.record import PodRecord, Trouble
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.status import render
from flexlet.core.runtime.shown import CREATED, EXITED, UNKNOWN, ContainerUser, RuntimeHandler

Json = dict[str, Any]

C = container("c")
POD = pod(C)
BEGUN = "1970-01-12T13:46:40Z"
RUNNING = {"running": {"startedAt": BEGUN}}
LOST = {"exitCode": 137, "reason": "ContainerStatusUnknown"}


def shown(of: PodRecord, setup: NodeSetup = SETUP) -> list[Json]:
    """The statuses of all containers, in the order of the fields."""
    status = render(of, setup, NOW + 60)
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return [entry for name in lists for entry in status.get(name, ())]


def one(of: PodRecord, setup: NodeSetup = SETUP) -> Json:
    (entry,) = shown(of, setup)
    return entry


def told(of: PodRecord) -> PodRecord:
    """The record after the API was told."""
    return replace(of, reported=render(of, SETUP, NOW))


def test_a_running_container() -> None:
    runs = runtime(run(C, image_ref="sha256:1", user=ContainerUser(uid=1, gid=2, supplemental_groups=(3,))))
    assert one(record(POD, runs)) == {
        "name": "c",
        "state": RUNNING,
        "lastState": {},
        "ready": True,
        "started": True,
        "restartCount": 0,
        "image": "docker.io/library/busybox:1",
        "imageID": "sha256:1",
        "containerID": "containerd://c#0",
        "resources": {},
        "user": {"linux": {"uid": 1, "gid": 2, "supplementalGroups": [3]}},
    }


@pytest.mark.parametrize(("asked", "found"), [("SIGUSR1", ["SIGUSR1"]), (None, [])])
def test_a_stop_signal_is_told_where_one_is_asked_for(asked: str | None, found: list[str]) -> None:
    """The runtime tells of the image's signals too; a kubelet without the feature tells of none."""
    signalled = container("c", lifecycle=Lifecycle(stop_signal=asked))
    entry = one(record(pod(signalled), runtime(run(signalled, stop_signal="SIGUSR1"))))
    assert [entry[key] for key in entry if key == "stopSignal"] == found


def test_the_run_before_is_the_last_state() -> None:
    ended = run(C, 1, EXITED, exit_code=3, reason="Error", message="runtime")
    entry = one(record(POD, runtime(run(C, 2), ended, run(C, 0, EXITED)), messages={"c#1": "own words"}))
    assert (entry["state"], entry["restartCount"]) == (RUNNING, 2)
    assert entry["lastState"] == {
        "terminated": {
            "exitCode": 3,
            "reason": "Error",
            "message": "runtime: own words",
            "startedAt": BEGUN,
            "finishedAt": BEGUN,
            "containerID": "containerd://c#1",
        }
    }


def test_messages_share_twelve_kibibytes() -> None:
    two = pod(C, container("d"))
    long = record(two, runtime(run(C, 0, EXITED)), messages={"c#0": "ä" * 9000})
    assert shown(long)[0]["state"]["terminated"]["message"] == "ä" * 3072


def test_a_container_that_is_made_and_not_started_waits() -> None:
    assert one(record(POD, runtime(run(C, 0, CREATED))))["state"] == {"waiting": {}}


@pytest.mark.parametrize("state", ["RUNNING", CREATED])
def test_a_container_being_started_is_not_told_of(state: str) -> None:
    """Its postStart hook may still undo it."""
    starting = record(POD, runtime(run(C, 0, state)), underway={"container/c": NOW})
    assert one(starting)["state"] == {"waiting": {"reason": "ContainerCreating"}}


def test_while_a_container_is_started_again_its_last_end_is_shown() -> None:
    runs = runtime(run(C, 1), run(C, 0, EXITED, exit_code=1))
    entry = one(record(POD, runs, underway={"container/c": NOW}))
    assert (entry["state"]["terminated"]["exitCode"], entry["restartCount"]) == (1, 0)


def test_an_end_during_the_start_is_not_told_of_either() -> None:
    runs = runtime(run(C, 0, EXITED, created_at=int((NOW + 1) * 1e9)))
    assert "waiting" in one(record(POD, runs, underway={"container/c": NOW}))["state"]
    earlier = runtime(run(C, 0, EXITED, created_at=int((NOW - 1) * 1e9)))
    assert "terminated" in one(record(POD, earlier, underway={"container/c": NOW}))["state"]


def test_a_run_whose_hook_failed_is_told_of_when_it_has_ended() -> None:
    trouble = {"c": Trouble(reason="PostStartHookError", message="boom")}
    doomed = record(POD, runtime(run(C)), doomed={"c#0": "FailedPostStartHook"}, troubles=trouble)
    assert one(doomed)["state"] == {"waiting": {"reason": "PostStartHookError", "message": "boom"}}
    entry = one(replace(doomed, shown=runtime(run(C, 0, EXITED))))
    assert (list(entry["state"]), entry["lastState"]["terminated"]["exitCode"]) == (["waiting"], 0)


def test_a_run_that_is_replaced_is_told_to_run_until_it_does_again() -> None:
    before = told(record(POD, runtime(run(C))))
    stopped = replace(before, shown=runtime(run(C, 0, EXITED)), replaced=frozenset({"c#0"}))
    assert one(stopped) == one(before)
    troubled = replace(stopped, troubles={"c": Trouble(reason="ErrImagePull")})
    assert one(troubled)["state"] == {"waiting": {"reason": "ErrImagePull"}}
    again = one(replace(stopped, shown=runtime(run(C, 1), run(C, 0, EXITED))))
    assert (again["state"], again["restartCount"], list(again["lastState"])) == (RUNNING, 1, ["terminated"])


@pytest.mark.parametrize(("of", "count"), [(POD, 1), (deleted(POD), 0)])
def test_a_container_that_vanished_while_running_is_lost(of: NodePod, count: int) -> None:
    """Waiting keeps it from passing for over; a deleted pod will not restart it."""
    gone = replace(told(record(POD, runtime(run(C)))), pod=of, shown=runtime())
    message = "The container could not be located when the pod was deleted.  The container used to be Running"
    entry = one(gone)
    assert entry["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert entry["lastState"] == {"terminated": {**LOST, "message": message}}
    assert entry["restartCount"] == count
    assert one(replace(gone, reported=render(gone, SETUP, NOW))) == entry


def test_a_container_of_which_the_runtime_knows_nothing_is_lost() -> None:
    strange = replace(told(record(POD, runtime(run(C)))), shown=runtime(run(C, 0, UNKNOWN)))
    message = "The container could not be located when the pod was terminated"
    assert one(strange)["state"] == {"terminated": {**LOST, "message": message}}
    assert one(strange)["restartCount"] == 1
    assert one(record(POD, runtime(run(C, 0, UNKNOWN))))["state"] == {"waiting": {}}


def test_an_end_is_remembered_when_the_runtime_has_forgotten_it() -> None:
    before = told(record(POD, runtime(run(C, 1, EXITED, exit_code=4))))
    forgotten = one(replace(before, shown=runtime()))
    assert (forgotten["state"]["terminated"]["exitCode"], forgotten["restartCount"]) == (4, 1)
    newer = one(replace(before, shown=runtime(run(C, 2))))
    assert (newer["lastState"]["terminated"]["exitCode"], newer["restartCount"]) == (4, 2)


def test_the_count_of_restarts_never_goes_back() -> None:
    status = NodeContainerStatus(name="c", restart_count=7, container_id="containerd://old", state=RUNNING)
    copy = replace(POD, status=replace(POD.status, container_statuses=(status,)))
    assert one(record(copy, runtime(run(C, 0))))["restartCount"] == 7
    assert one(record(copy, runtime(run(C, 0, annotations={}))))["restartCount"] == 7


@pytest.mark.parametrize(
    ("policy", "exit_code", "waits"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_a_container_waits_only_for_a_start_that_will_come(policy: str, exit_code: int, waits: bool) -> None:
    trouble = {"c": Trouble(reason="CrashLoopBackOff", message="back-off 10s")}
    ended = runtime(run(C, 0, EXITED, exit_code=exit_code))
    entry = one(record(pod(C, restart_policy=policy), ended, troubles=trouble))
    if waits:
        assert entry["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
        assert entry["lastState"]["terminated"]["exitCode"] == exit_code
    else:
        assert (entry["state"]["terminated"]["exitCode"], entry["lastState"]) == (exit_code, {})


def test_nothing_of_a_deleted_pod_waits_for_a_start() -> None:
    troubles = {"c": Trouble(reason="ErrImagePull")}
    assert one(record(deleted(POD), runtime(), troubles=troubles))["state"] == {
        "waiting": {"reason": "ContainerCreating"}
    }


def test_init_containers_are_ready_when_done_and_started_while_they_run() -> None:
    first, second = container("i1"), container("i2")
    runs = runtime(run(second), run(first, 0, EXITED))
    entries = shown(record(pod(C, init=(first, second)), runs))
    assert [(each["name"], each["ready"], each["started"]) for each in entries] == [
        ("i1", True, False),
        ("i2", False, True),
        ("c", False, False),
    ]
    assert entries[2]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_an_init_container_that_was_forgotten_is_done_once_regular_ones_exist() -> None:
    plain, kept = container("i"), sidecar("s")
    entries = shown(record(pod(C, init=(plain, kept)), runtime(run(C))))
    text = "Unable to get init container status from container runtime and pod has been initialized, "
    assert entries[0]["state"] == {
        "terminated": {"exitCode": 0, "reason": "Completed", "message": text + "treat it as exited normally"}
    }
    assert entries[0]["ready"] is True
    assert entries[1]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_done_init_container_does_not_wait_for_trouble_of_another_attempt() -> None:
    plain = container("i")
    of = record(pod(C, init=(plain,)), runtime(run(plain, 0, EXITED)), troubles={"i": Trouble(reason="X")})
    assert "terminated" in shown(of)[0]["state"]


def test_ephemeral_containers_are_never_ready_and_nobody_says_whether_they_started() -> None:
    extra = container("e")
    entry = shown(record(pod(C, ephemeral_containers=(extra,)), runtime(run(extra))))[1]
    assert (entry["state"], entry["ready"], "started" in entry) == (RUNNING, False, False)


def test_regular_containers_are_sorted_by_name() -> None:
    two = pod(container("b"), container("a"))
    assert [each["name"] for each in shown(record(two, runtime()))] == ["a", "b"]


def test_mounts_say_how_read_only_they_are() -> None:
    mounts = (
        VolumeMount(name="v", mount_path="/v"),
        VolumeMount(name="r", mount_path="/r", read_only=True),
        VolumeMount(name="rr", mount_path="/rr", read_only=True, recursive_read_only="IfPossible"),
    )
    of = record(pod(container("c", volume_mounts=mounts)), runtime())
    able = replace(SETUP, handlers=(RuntimeHandler(recursive_read_only_mounts=True),))
    weak = {"name": "rr", "mountPath": "/rr", "readOnly": True, "recursiveReadOnly": "Disabled"}
    assert one(of)["volumeMounts"] == [
        {"name": "v", "mountPath": "/v"},
        {"name": "r", "mountPath": "/r", "readOnly": True, "recursiveReadOnly": "Disabled"},
        weak,
    ]
    assert one(of, able)["volumeMounts"][2] == {**weak, "recursiveReadOnly": "Enabled"}
