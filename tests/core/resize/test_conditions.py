"""How the conditions of a resize come, change and go."""

from msgspec.structs import replace

from flexlet.api.meta import Condition
from flexlet.api.pod import Pod, PodStatus
from flexlet.core.resize import conditions
from flexlet.core.resize.conditions import NONE, ResizeConditions

T = 1_700_000_000.0
AT, LATER, MUCH_LATER = "2023-11-14T22:13:20Z", "2023-11-14T22:13:30Z", "2023-11-14T22:14:20Z"


def pending(reason: str, message: str, generation: int, probed: str, since: str) -> Condition:
    return Condition(
        type="PodResizePending",
        status="True",
        reason=reason,
        message=message,
        observed_generation=generation,
        last_probe_time=probed,
        last_transition_time=since,
    )


def in_progress(reason: str, message: str, generation: int, probed: str, since: str) -> Condition:
    return replace(pending(reason, message, generation, probed, since), type="PodResizeInProgress")


def test_a_refusal_is_probed_again_and_turns_with_its_reason() -> None:
    """LastTransitionTime changes only with the reason, observedGeneration with every evaluation."""
    first = conditions.refused(NONE, "Deferred", "full", 2, T)
    assert first == ResizeConditions(pending("Deferred", "full", 2, AT, AT))
    again = conditions.refused(first, "Deferred", "fuller", 3, T + 10)
    assert again == ResizeConditions(pending("Deferred", "fuller", 3, LATER, AT))
    never = conditions.refused(again, "Infeasible", "no", 3, T + 60)
    assert never == ResizeConditions(pending("Infeasible", "no", 3, MUCH_LATER, MUCH_LATER))
    assert [first.is_deferred, never.is_deferred, never.is_infeasible, NONE.is_infeasible] == [
        True,
        False,
        True,
        False,
    ]
    assert [again.waiting_since, NONE.waiting_since] == [AT, ""]


def test_events_are_for_new_reasons_and_generations() -> None:
    first = conditions.refused(NONE, "Deferred", "full", 2, T)
    assert conditions.is_news(NONE, first)
    assert not conditions.is_news(first, conditions.refused(first, "Deferred", "fuller", 2, T + 10))
    assert conditions.is_news(first, conditions.refused(first, "Deferred", "full", 3, T + 10))
    assert conditions.is_news(first, conditions.refused(first, "Infeasible", "no", 2, T + 10))


def test_an_allocation_forgets_what_was_before() -> None:
    assert conditions.allocated(3, T) == ResizeConditions(None, in_progress("", "", 3, AT, AT))


def test_an_error_stays_with_its_generation_until_the_resize_is_done() -> None:
    """A sync without an error of its own does not blank it; a newer wish may wait beside it."""
    failing = conditions.failed(conditions.allocated(2, T), "busy", 5, T + 10)
    assert failing.in_progress == in_progress("Error", "busy", 2, LATER, LATER)
    waiting = conditions.refused(failing, "Deferred", "full", 5, T + 60)
    still = conditions.progressing(waiting, 5, T + 60)
    assert conditions.rendered(still) == (
        pending("Deferred", "full", 5, MUCH_LATER, MUCH_LATER),
        in_progress("Error", "busy", 2, MUCH_LATER, LATER),
    )
    assert conditions.completed(still) == (ResizeConditions(waiting.pending), 2)
    assert conditions.settled(still) == ResizeConditions(None, still.in_progress)


def test_nothing_completes_that_was_not_in_progress() -> None:
    """So a freshly created pod is never told to have been resized."""
    assert conditions.completed(NONE) == (NONE, None)


def test_a_difference_found_without_an_allocation_is_in_progress_too() -> None:
    assert conditions.progressing(NONE, 4, T).in_progress == in_progress("", "", 4, AT, AT)


def test_a_restart_keeps_the_times() -> None:
    """Unlike upstream, which resets them and so loses the order of those who wait."""
    known = (pending("Deferred", "full", 2, AT, AT), in_progress("Error", "busy", 1, AT, ""))
    pod = Pod(status=PodStatus(conditions=(*known, Condition(type="Ready", status="True"))))
    assert conditions.restored(pod, T + 10) == ResizeConditions(
        known[0], in_progress("Error", "busy", 1, AT, LATER)
    )


def test_looking_again_is_no_change() -> None:
    first = conditions.refused(NONE, "Deferred", "full", 2, T)
    again = conditions.refused(first, "Deferred", "full", 2, T + 10)
    assert first != again
    assert conditions.without_probe_times(first) == conditions.without_probe_times(again)
