"""From a container that should run to one that does: back-off after crashes, the image, the start."""

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, Answer, container, decided, living, pod, run, started, told

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent import attempts
from flexlet.core.agent.deeds import PullImage, RemoveContainer, StartContainer
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.record import Backoff, ImageState, PodRecord, Trouble
from flexlet.core.resize import targets
from flexlet.core.resize.allocation import NOTHING, Allocation
from flexlet.core.runtime.shown import CREATED, EXITED, Container

A, B = container("a", "100m,64Mi"), container("b")
POD = pod(A)
PULL = PullImage(uid=UID, container="a", image="busybox:1", policy="IfNotPresent")
HERE = {"a": ImageState(ref="sha256:1", for_attempt=0)}
BACKING_OFF = ("Warning", "BackOff", "Back-off restarting failed container a in pod p_ns(uid-1)")


def start(name: str = "a", attempt: int = 0, actuated: Allocation | None = None) -> StartContainer:
    return StartContainer(
        uid=UID,
        container=name,
        attempt=attempt,
        sandbox_id="s0",
        image_ref="sha256:1",
        actuated=started(POD) if actuated is None else actuated,
    )


def crashed(attempt: int, seconds_ago: float = 0.0) -> Container:
    return run(A, attempt, state=EXITED, exit_code=1, finished_at=int((NOW - seconds_ago) * 1e9))


def after(record: PodRecord, now: float = NOW) -> PodRecord:
    """The record once its decision was made."""
    return decide(record, SETUP, now).record


def test_the_image_comes_before_the_container() -> None:
    """It is made sure for this very attempt, whatever was there for an earlier one."""
    assert decided(living(POD)) == Answer((PULL,))
    old = {"a": ImageState(ref="sha256:0", for_attempt=0)}
    assert decided(living(POD, crashed(0), images=old)) == Answer((PULL,))


def test_what_a_container_gets_is_recorded_when_its_start_is_issued() -> None:
    """From then on it may exist with these amounts."""
    record = living(POD, images=HERE, actuated=NOTHING)
    actuated = targets.created(NOTHING, POD, A)
    answer = decided(record)
    assert (answer.deeds, answer.events) == ((start(actuated=actuated),), ())
    assert after(record).actuated == actuated


def test_starts_of_one_decision_build_on_each_other() -> None:
    """Each carries the record of all before it, so that none is lost when they are written in order."""
    of = pod(A, B)
    images = {name: ImageState(ref="sha256:1", for_attempt=0) for name in ("a", "b")}
    first = targets.created(NOTHING, of, A)
    second = targets.created(first, of, B)
    answer = decided(living(of, images=images, actuated=NOTHING))
    assert answer.deeds == (start("a", actuated=first), start("b", actuated=second))


def test_a_container_starts_with_what_was_granted_not_with_what_is_asked_for() -> None:
    """A resize that waits changes nothing."""
    record = replace(living(POD, images=HERE, actuated=NOTHING), pod=pod(container("a", "900m,64Mi")))
    assert decided(told(record)).deeds == (start(actuated=targets.created(NOTHING, POD, A)),)


@pytest.mark.parametrize(
    ("before", "delay"), [(None, 10), (10.0, 20), (20.0, 40), (80.0, 160), (160.0, 300), (300.0, 300)]
)
def test_delays_after_crashes_double(before: float | None, delay: float) -> None:
    """0, 10, 20, 40 ... seconds before the first, second ... restart, never more than the longest."""
    record = living(POD, crashed(3, seconds_ago=300))
    if before is not None:
        known = after(living(POD, crashed(2))).crashes["a"]
        crashes = {"a": replace(known, delay_s=before, since=NOW - 301)}
        record = replace(record, crashes=crashes)
    assert decided(told(record)) == Answer((PULL,))
    found = after(told(record)).crashes["a"]
    assert (found.delay_s, found.since, found.attempt) == (delay, NOW, 4)


def test_the_longest_delay_can_be_lowered() -> None:
    """Also below the first one."""
    quick = replace(SETUP, max_restart_period_s=5.0)
    assert decide(living(POD, crashed(0)), quick, NOW).record.crashes["a"].delay_s == 5.0


def crash_looping(seconds_ago: float = 4.0) -> PodRecord:
    """The second crash, after a first one that was forgiven at once."""
    first = after(living(POD, crashed(0)), NOW - 5)
    return living(POD, crashed(1, seconds_ago), crashes=first.crashes)


def test_a_crash_is_told_before_the_wait_that_follows_it() -> None:
    """First the report of the end, then that of the wait."""
    record = replace(crash_looping(), reported={"phase": "Running"})
    answer = decided(record)
    text = "back-off 10s restarting failed container=a pod=p_ns(uid-1)"
    assert [type(deed).__name__ for deed in answer.deeds] == ["ReportStatus"]
    assert answer.events == ((*BACKING_OFF, "spec.containers{a}"),)
    assert answer.wake_at == NOW + 6
    assert after(record).troubles == {"a": Trouble(reason="CrashLoopBackOff", message=text, at=NOW)}


def test_a_wait_is_told_once() -> None:
    """Looking again is no news."""
    waiting = told(after(crash_looping()))
    assert decided(waiting, NOW + 1) == Answer(wake_at=NOW + 6)
    assert decided(waiting, NOW + 6).deeds == (PULL,)


def test_a_run_that_lasted_is_forgiven() -> None:
    """Ten minutes after the last decision the delays start from the beginning."""
    looping = crash_looping()
    crashes = {"a": replace(looping.crashes["a"], delay_s=300.0, since=NOW - 700)}
    record = told(replace(looping, crashes=crashes))
    assert decided(record) == Answer((PULL,))
    assert after(record).crashes["a"].delay_s == 10


@pytest.mark.parametrize("changed", [container("a", "200m,64Mi"), replace(A, image="busybox:2")])
def test_another_definition_is_forgiven(changed: NodeContainer) -> None:
    """The delay is about image and resources: a resize resets it."""
    record = living(pod(changed), crashed(1), crashes=crash_looping().crashes)
    assert [type(deed).__name__ for deed in decided(record).deeds] == ["PullImage"]


def test_a_run_that_was_replaced_has_not_crashed() -> None:
    """The first time it starts again at once; later its delay counts from when its start was decided."""
    first = living(POD, crashed(0), replaced=frozenset({"a#0"}))
    assert decided(first).deeds == (PULL,)
    assert after(first).crashes == {}
    second = living(POD, crashed(1), replaced=frozenset({"a#1"}))
    known = after(second).crashes
    assert known["a"].delay_s == 10
    short = living(POD, crashed(2), replaced=frozenset({"a#2"}), crashes={"a": replace(known["a"], since=NOW - 7)})
    assert decided(short)[1:] == (((*BACKING_OFF, "spec.containers{a}"),), NOW + 3)
    long = living(POD, crashed(2), replaced=frozenset({"a#2"}), crashes={"a": replace(known["a"], since=NOW - 70)})
    assert decided(long).deeds == (PULL,)


def failed_pull(seconds_ago: float) -> PodRecord:
    """A pull that failed some time ago and waits for the next one."""
    since = NOW - seconds_ago
    trouble = Trouble(reason="ErrImagePull", message="no such host", at=since)
    wait = Backoff(delay_s=10, since=since, why="ErrImagePull: no such host")
    return living(POD, troubles={"a": trouble}, pulls={"busybox:1": wait})


def test_a_failed_pull_is_shown_for_a_while_then_the_wait_for_the_next() -> None:
    """ErrImagePull becomes ImagePullBackOff, whose message says what was wrong."""
    assert decided(failed_pull(2)) == Answer(wake_at=NOW + 3)
    answer = decided(failed_pull(6))
    assert answer.events == (
        ("Normal", "BackOff", 'Back-off pulling image "busybox:1"', "spec.containers{a}"),
        ("Warning", "Failed", "Error: ImagePullBackOff", "spec.containers{a}"),
    )
    assert answer.wake_at == NOW + 4
    assert [deed.status["containerStatuses"][0]["state"] for deed in answer.deeds] == [  # type: ignore[union-attr]
        {
            "waiting": {
                "reason": "ImagePullBackOff",
                "message": 'Back-off pulling image "busybox:1": ErrImagePull: no such host',
            }
        }
    ]
    assert decided(failed_pull(10)) == Answer((PULL,))


def test_a_wait_for_an_image_is_shared_by_those_who_need_it() -> None:
    """It is about the image, not about the container."""
    of = pod(A, B)
    shared = living(of, run(A), pulls=failed_pull(1).pulls)
    assert decided(shared).events == (
        ("Normal", "BackOff", 'Back-off pulling image "busybox:1"', "spec.containers{b}"),
        ("Warning", "Failed", "Error: ImagePullBackOff", "spec.containers{b}"),
    )


def test_a_start_that_failed_is_tried_again_with_its_image() -> None:
    """After the usual pause, and the image is asked for first."""
    failed = living(POD, retries={"container/a": Backoff(delay_s=12, since=NOW - 2)})
    assert decided(failed) == Answer(wake_at=NOW + 10)
    assert decided(failed, NOW + 10) == Answer((PULL,))


def test_reports_wait_a_moment_while_containers_start() -> None:
    """Several start together; what came of them is told at once."""
    of = pod(A, B)
    half = replace(living(of, run(A)), reported={"phase": "Pending"}, underway={"container/b": NOW - 0.5})
    assert decided(half) == Answer(wake_at=NOW + 0.5)
    slow = replace(half, underway={"container/b": NOW - 1})
    assert [type(deed).__name__ for deed in decided(slow).deeds] == ["ReportStatus"]


def test_the_count_goes_on_if_the_runtime_has_lost_everything() -> None:
    """A container that the API knows to have run starts with the next number, not with the first."""
    known = NodeContainerStatus(name="a", container_id="containerd://a#4", restart_count=4)
    of = replace(POD, status=replace(POD.status, container_statuses=(known,)))
    answer = decided(living(of, images={"a": ImageState(ref="sha256:1", for_attempt=5)}))
    assert answer.deeds == (start(attempt=5),)


def test_what_was_made_and_never_started_does_not_count() -> None:
    """An agent died in between: the container is removed, and the next one has the same number."""
    left = told(living(POD, run(A, state=CREATED)))
    assert decided(left).deeds == (RemoveContainer(uid=UID, container="a", container_id="a#0"),)
    status = NodeContainerStatus(name="a", container_id="containerd://a#0", state={"waiting": {}})
    gone = living(replace(POD, status=replace(POD.status, container_statuses=(status,))))
    assert attempts.following(gone, "a") == 0
