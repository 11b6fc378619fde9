import pytest

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod, PodSpec
from flexlet.core.agent.record import Ending
from flexlet.core.kubeletconfig.config import ShutdownPeriod
from flexlet.core.shutdown import Shutdown, Step, Wave, waves

MESSAGE = "Pod was terminated in response to imminent node shutdown."
CRITICAL = 2_000_000_000


def pod(uid: str, priority: int | None = None, grace: int | None = 30) -> Pod:
    return Pod(
        metadata=ObjectMeta(uid=uid), spec=PodSpec(priority=priority, termination_grace_period_seconds=grace)
    )


def period(priority: int, seconds: int) -> ShutdownPeriod:
    return ShutdownPeriod(priority=priority, shutdown_grace_period_seconds=seconds)


def ending(grace: int) -> Ending:
    return Ending(reason="Terminated", message=MESSAGE, grace_s=grace, failed=True, disruption=MESSAGE)


SIMPLE = (period(0, 20), period(CRITICAL, 10))


def test_ordinary_pods_end_first() -> None:
    """Critical ones have what is left; nobody has more time than the group, nor more than it asked for."""
    found = waves([pod("web"), pod("dns", CRITICAL), pod("quick", grace=5), pod("own", grace=None)], SIMPLE)
    assert found == (
        Wave(priority=0, patience_s=20, endings={"web": ending(20), "quick": ending(5), "own": ending(20)}),
        Wave(priority=CRITICAL, patience_s=10, endings={"dns": ending(10)}),
    )


@pytest.mark.parametrize(
    ("priority", "group"), [(-5, 0), (0, 0), (None, 0), (9, 0), (10, 10), (15, 10), (100, 100), (101, 100)]
)
def test_a_pod_is_in_the_highest_group_it_reaches(priority: int | None, group: int) -> None:
    """The order in which groups are given does not matter."""
    [wave] = waves([pod("a", priority)], [period(100, 1), period(0, 3), period(10, 2)])
    assert wave.priority == group


def test_without_a_setting_nothing_is_ended() -> None:
    assert waves([pod("a")], ()) == ()
    assert Shutdown(()).decide(["a"], 0.0) == Step(is_over=True)


def test_the_next_group_waits_for_the_one_before() -> None:
    """Until its pods have ended or its time is over; groups without pods take no time."""
    shutdown = Shutdown(waves([pod("web"), pod("dns", CRITICAL)], [*SIMPLE, period(50, 100)]))
    assert shutdown.decide(["web", "dns"], 0.0) == Step(endings={"web": ending(20)}, wake_at=20.0)
    assert shutdown.decide(["web", "dns"], 5.0) == Step(wake_at=20.0)
    assert shutdown.decide(["dns"], 6.0) == Step(endings={"dns": ending(10)}, wake_at=16.0)
    assert shutdown.decide(["dns"], 15.9) == Step(wake_at=16.0)
    assert shutdown.decide(["dns"], 16.0) == Step(is_over=True)
