"""How deeds ended goes into the record, and people are told what a kubelet tells them, word for word."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import (
    NOW,
    SETUP,
    UID,
    container,
    event,
    living,
    pod,
    run,
    sidecar,
)

from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent.deeds import (
    CreatePodCgroup,
    FinishDelete,
    ForgetPod,
    Inspect,
    MountVolumes,
    PodDeed,
    PullImage,
    RemoveContainer,
    RemovePodCgroup,
    RemoveSandbox,
    RemoveVolumes,
    ReportStatus,
    RunPreStop,
    RunSandbox,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import (
    Done,
    Failed,
    Finished,
    Outcome,
    PullBegan,
)
from flexlet.core.agent.record import Backoff, ImageState, PodRecord, Trouble
from flexlet.core.resize.allocation import NOTHING, Allocation
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.runtime.shown import CREATED, EXITED

A, S = container("a"), sidecar("s")
POD = pod(A, init=(S,))
WHERE = "spec.containers{a}"
PULL = PullImage(uid=UID, container="a", image="busybox:1", policy="IfNotPresent")
START = StartContainer(uid=UID, container="a", attempt=0, sandbox_id="s0", image_ref="x", actuated=NOTHING)
STOP = StopContainer(uid=UID, container="a", container_id="a#0", grace_s=30, reason="Stopping container a")
HOOK = RunPreStop(uid=UID, container="s", container_id="s#0", grace_s=30, hook=Handler())
Row = tuple[str, str, str, str]


def ends(
    deed: PodDeed, outcome: Outcome, of: PodRecord | None = None, took_s: float = 0.0, now: float = NOW
) -> tuple[PodRecord, tuple[Row, ...]]:
    """The record and the events after the end of a deed, which was under way."""
    before = living(POD) if of is None else of
    before = replace(before, underway={**before.underway, deed.key: now, "other": now})
    end = Finished(deed=deed, outcome=outcome, began_at=now - took_s, ended_at=now)
    after = folded(before, end, SETUP, now)
    assert after.record.underway == {"other": now}
    return after.record, tuple(map(event, after.events))


def wait(of: PodRecord, key: str) -> float:
    """How long a deed has to wait."""
    found = of.retries[key]
    assert found.since == NOW
    return found.delay_s


# Images


def test_a_pull_is_told_when_it_begins() -> None:
    """Whoever fetches the image is the only one who knows."""
    began = folded(living(POD), PullBegan(uid=UID, container="a", image="busybox:1"), SETUP, NOW)
    assert [event(each) for each in began.events] == [("Normal", "Pulling", 'Pulling image "busybox:1"', WHERE)]


@pytest.mark.parametrize(
    ("done", "took_s", "text"),
    [
        (
            Done(image_ref="x", user=7),
            0.1,
            'Container image "busybox:1" already present on machine and can be accessed by the pod',
        ),
        (
            Done(image_ref="x", user=7, pulled=True, size=4096),
            1.2345,
            'Successfully pulled image "busybox:1" in 1.234s (1.234s including waiting). Image size: 4096 bytes.',
        ),
        (
            Done(image_ref="x", user=7, pulled=True, waited_s=60.0, size=1),
            61.5,
            'Successfully pulled image "busybox:1" in 1.5s (1m1.5s including waiting). Image size: 1 bytes.',
        ),
    ],
)
def test_an_image_that_is_here(done: Done, took_s: float, text: str) -> None:
    """It serves the next attempt; older failures are forgotten."""
    before = living(POD, run(A, 1, state=EXITED), pulls={"busybox:1": Backoff(delay_s=10, since=NOW)})
    after, told = ends(PULL, done, before, took_s)
    assert told == (("Normal", "Pulled", text, WHERE),)
    assert after.images == {"a": ImageState(ref="x", user=7, for_attempt=2)}
    assert after.pulls == {}


@pytest.mark.parametrize(
    ("failure", "first", "is_doubling"),
    [
        (
            Failed(reason="ErrImagePull", message="no such host"),
            ("Warning", "Failed", 'Failed to pull image "busybox:1": no such host', WHERE),
            True,
        ),
        (
            Failed(reason="RegistryUnavailable", message="told", detail="raw"),
            ("Warning", "Failed", 'Failed to pull image "busybox:1": raw', WHERE),
            True,
        ),
        (
            Failed(reason="ErrImageNeverPull", message="told"),
            ("Warning", "ErrImageNeverPull", "told", WHERE),
            False,
        ),
        (Failed(reason="InvalidImageName", message="told"), ("Warning", "InspectFailed", "told", WHERE), False),
        (Failed(reason="ImageInspectError", message="told"), ("Warning", "InspectFailed", "told", WHERE), False),
    ],
)
def test_an_image_that_cannot_be_had(failure: Failed, first: Row, is_doubling: bool) -> None:
    """The container waits with the reason; failures of registries wait ever longer."""
    after, told = ends(PULL, failure)
    assert told == (first, ("Warning", "Failed", f"Error: {failure.reason}", WHERE))
    assert after.troubles == {"a": Trouble(reason=failure.reason, message=failure.message, at=NOW)}
    if is_doubling:
        why = f"{failure.reason}: {failure.message}"
        assert after.pulls == {"busybox:1": Backoff(delay_s=10, since=NOW, why=why)}
        again, _ = ends(PULL, failure, after, now=NOW + 10)
        assert again.pulls["busybox:1"].delay_s == 20
        later, _ = ends(PULL, failure, after, now=NOW + 601)
        assert later.pulls["busybox:1"].delay_s == 10
    else:
        assert 10 <= wait(after, PULL.key) <= 15


# Starts and stops


def test_a_container_that_started() -> None:
    """Whatever it waited for is over."""
    trouble = {"a": Trouble(reason="x"), "s": Trouble(reason="y")}
    after, told = ends(START, Done(id="a#0"), living(POD, troubles=trouble))
    assert told == (
        ("Normal", "Created", "Container created", WHERE),
        ("Normal", "Started", "Container started", WHERE),
    )
    assert after.troubles == {"s": Trouble(reason="y")}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (
            Failed(reason="CreateContainerConfigError", message='configmap "cm" not found', stage="config"),
            (("Warning", "Failed", 'Error: configmap "cm" not found', WHERE),),
        ),
        (
            Failed(reason="CreateContainerError", message="no room", stage="create"),
            (("Warning", "Failed", "Error: no room", WHERE),),
        ),
        (
            Failed(reason="RunContainerError", message="cannot run abc123", stage="start", id="abc123"),
            (
                ("Normal", "Created", "Container created", WHERE),
                ("Warning", "Failed", "Error: cannot run a", WHERE),
            ),
        ),
        (
            Failed(reason="PostStartHookError", message="secret", stage="hook", id="a#0"),
            (
                ("Normal", "Created", "Container created", WHERE),
                ("Normal", "Started", "Container started", WHERE),
                ("Warning", "FailedPostStartHook", "PostStartHook failed", WHERE),
            ),
        ),
    ],
)
def test_a_container_that_did_not_start(failure: Failed, told: tuple[Row, ...]) -> None:
    """People see how far it came; what a hook said is kept from them."""
    after, found = ends(START, failure)
    assert found == told
    assert after.troubles == {"a": Trouble(reason=failure.reason, message=failure.message, at=NOW)}


def test_what_follows_from_how_far_a_start_came() -> None:
    """Not made: tried again with its image. Made and ended: a crash. Hook failed: to be stopped."""
    images = {"a": ImageState(ref="x", for_attempt=0)}
    unmade, _ = ends(START, Failed(message="x", stage="create"), living(POD, images=images))
    assert unmade.images == {}
    assert 10 <= wait(unmade, START.key) <= 15
    crashed = living(POD, run(A, state=EXITED), images=images)
    after, _ = ends(START, Failed(message="x", stage="start", id="a#0"), crashed)
    assert (after.images, after.retries, after.doomed) == (images, {}, {})
    stuck = living(POD, run(A, state=CREATED), images=images)
    after, _ = ends(START, Failed(message="x", stage="start", id="a#0"), stuck)
    assert 10 <= wait(after, START.key) <= 15
    hooked, _ = ends(START, Failed(message="x", stage="hook", id="a#0"))
    assert hooked.doomed == {"a#0": "FailedPostStartHook"}
    unknown, _ = ends(START, Failed(message="x"))
    assert unknown.stale is True


def test_a_container_that_was_stopped_is_not_told_again_at_once() -> None:
    """Even if the runtime still shows it."""
    after, told = ends(STOP, Done())
    assert told == ()
    assert 10 <= wait(after, STOP.key) <= 15


def test_a_hook_that_failed_is_told_without_its_words() -> None:
    """They may be secret."""
    row = ("Warning", "FailedPreStopHook", "PreStopHook failed")
    assert ends(STOP, Done(hook_failure="secret"))[1] == ((*row, WHERE),)
    assert ends(HOOK, Done(hook_failure="secret"))[1] == ((*row, "spec.initContainers{s}"),)
    assert ends(HOOK, Done())[1] == ()


def test_a_container_that_could_not_be_stopped() -> None:
    """Nobody knows what it does now."""
    after, told = ends(STOP, Failed(message="stuck"))
    assert told == (("Warning", "FailedKillPod", "error killing pod: stuck", ""),)
    assert after.stale is True
    assert 10 <= wait(after, STOP.key) <= 15


# Everything else


CGROUP = CreatePodCgroup(uid=UID, path="p", files={"cpu.weight": "4"}, actuated=Allocation({}, pod=A.resources))


@pytest.mark.parametrize(
    ("deed", "before", "changes"),
    [
        (RunSandbox(uid=UID, attempt=0), {}, {}),
        (Inspect(uid=UID), {}, {}),
        (StopSandbox(uid=UID, sandbox_id="s0"), {}, {"stopped_sandboxes": frozenset({"s0"})}),
        (
            CGROUP,
            {"has_cgroup": False, "cgroup": None, "actuated": NOTHING},
            {
                "has_cgroup": True,
                "has_values": True,
                "cgroup": PodCgroup(weight=4, quota=-1, memory_max=-1),
                "actuated": CGROUP.actuated,
            },
        ),
        (RemovePodCgroup(uid=UID, path="p"), {}, {"has_cgroup": False, "cgroup": None}),
        (RemoveVolumes(uid=UID), {}, {"volumes": False, "unmounted": True}),
        (
            RemoveVolumes(uid=UID, everything=True),
            {},
            {"volumes": False, "unmounted": True, "erased": True},
        ),
        (ReportStatus(uid=UID, status={"phase": "x"}), {}, {"reported": {"phase": "x"}}),
        (FinishDelete(uid=UID), {}, {"deleted": True}),
        (ForgetPod(uid=UID), {"gone": True}, {"cleaned": True}),
        (RemoveContainer(uid=UID, container="a", container_id="a#0"), {}, {}),
        (RemoveSandbox(uid=UID, sandbox_id="s0"), {}, {}),
    ],
)
def test_what_success_changes(deed: PodDeed, before: dict[str, Any], changes: dict[str, Any]) -> None:
    """Nothing else, and nothing is told; earlier failures of the same are forgotten."""
    of = living(POD, **before, retries={deed.key: Backoff(delay_s=1, since=0)})
    after, told = ends(deed, Done(), of)
    assert after == replace(of, retries={}, underway={"other": NOW}, **changes)
    assert told == ()


@pytest.mark.parametrize(
    ("deed", "told", "is_stale"),
    [
        (
            RunSandbox(uid=UID, attempt=0),
            ("FailedCreatePodSandBox", "Failed to create pod sandbox: no"),
            True,
        ),
        (StopSandbox(uid=UID, sandbox_id="s0"), ("FailedKillPod", "error killing pod: no"), True),
        (CGROUP, ("FailedCreatePodContainer", "unable to ensure pod container exists: no"), False),
        (RemovePodCgroup(uid=UID, path="p"), None, False),
        (RemoveVolumes(uid=UID), None, False),
        (FinishDelete(uid=UID), None, False),
        (ReportStatus(uid=UID, status={}), None, False),
        (RemoveContainer(uid=UID, container="a", container_id="a#0"), None, True),
        (RemoveSandbox(uid=UID, sandbox_id="s0"), None, True),
    ],
)
def test_what_failure_changes(deed: PodDeed, told: tuple[str, str] | None, is_stale: bool) -> None:
    """It is tried again in ten to fifteen seconds; if the runtime was involved, after another look."""
    after, found = ends(deed, Failed(message="no"))
    assert found == (() if told is None else (("Warning", *told, ""),))
    assert 10 <= wait(after, deed.key) <= 15
    assert after.stale is is_stale


def test_a_look_that_failed_is_repeated_soon() -> None:
    """Nothing can be decided without it."""
    after, _ = ends(Inspect(uid=UID), Failed(message="no"))
    assert 1 <= wait(after, "Inspect") <= 1.5


def test_a_sandbox_that_fails_while_the_pod_is_stopped_is_no_news() -> None:
    """The pod was deleted while it was being made."""
    after, told = ends(RunSandbox(uid=UID, attempt=0), Failed(message="no"), living(POD, stopping_since=NOW))
    assert (told, after.stale) == ((), True)


@pytest.mark.parametrize("reason", ["NotFound", "Conflict"])
def test_nobody_is_there_to_be_told(reason: str) -> None:
    """The pod is gone from the API, or has a namesake; the watch will say so."""
    after, _ = ends(ReportStatus(uid=UID, status={"phase": "x"}), Failed(reason=reason, message="no"))
    assert (after.reported, after.retries) == ({"phase": "x"}, {})


def test_volumes() -> None:
    """Mounted, to be refreshed in a minute or so; failures wait twice as long each time."""
    mount = MountVolumes(uid=UID)
    done, _ = ends(mount, Done(), living(POD, volumes=False, retries={"volumes": Backoff(delay_s=4, since=0)}))
    assert (done.volumes, done.retries) == (True, {})
    assert NOW + 60 <= done.refresh_volumes_at <= NOW + 90
    failure = Failed(message='configmap "cm" not found', detail="v")
    text = 'MountVolume.SetUp failed for volume "v" : configmap "cm" not found'
    failed, told = ends(mount, failure, living(POD, volumes=False))
    assert told == (("Warning", "FailedMount", text, ""),)
    assert wait(failed, "volumes") == 0.5
    again, _ = ends(mount, failure, failed)
    assert wait(again, "volumes") == 1.0
    long, _ = ends(mount, failure, living(POD, retries={"volumes": Backoff(delay_s=100, since=0)}))
    assert wait(long, "volumes") == 122
    _, told = ends(mount, Failed(message="read-only file system"))
    assert told == (("Warning", "Failed", "error making pod data directories: read-only file system", ""),)


def test_a_failed_sandbox_brings_nobody_back() -> None:
    """What was stopped for it is judged by its exit codes after all."""
    after, _ = ends(RunSandbox(uid=UID, attempt=1), Failed(message="no"), living(POD, replaced=frozenset({"a#0"})))
    assert after.replaced == frozenset()
