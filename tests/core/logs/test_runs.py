"""Which run's log is meant, and what people are told when there is none."""

import pytest

from flexlet.core.logs.runs import NoLogs, Reported, choose_run

WHERE = 'container "c" in pod "p"'


@pytest.mark.parametrize(
    ("reported", "previous", "expected"),
    [
        (None, False, NoLogs(f"{WHERE} is not available")),
        (Reported(running="now"), False, "now"),
        (Reported(running="now", last_terminated="before"), True, "before"),
        (Reported(running="now"), True, NoLogs(f"previous terminated {WHERE} not found")),
        (Reported(running="now", last_terminated=""), True, NoLogs(f"previous terminated {WHERE} not found")),
        (Reported(terminated="ended"), False, "ended"),
        (Reported(terminated="", last_terminated="before"), False, "before"),
        (Reported(terminated=""), False, NoLogs(f"{WHERE} is terminated")),
        (Reported(waiting="CrashLoopBackOff", last_terminated="before"), False, "before"),
        (Reported(waiting="CrashLoopBackOff", last_terminated=""), False, NoLogs(f"{WHERE} is terminated")),
        (
            Reported(waiting="ContainerCreating"),
            False,
            NoLogs(f"{WHERE} is waiting to start: ContainerCreating"),
        ),
        (Reported(waiting="ErrImagePull"), False, NoLogs(f"{WHERE} is waiting to start: image can't be pulled")),
        (
            Reported(waiting="ImagePullBackOff"),
            False,
            NoLogs(f"{WHERE} is waiting to start: trying and failing to pull image"),
        ),
        (Reported(), False, NoLogs(f"{WHERE} is waiting to start - no logs yet")),
    ],
)
def test_the_run_that_is_meant(reported: Reported | None, previous: bool, expected: str | NoLogs) -> None:
    assert choose_run("p", "c", reported, previous=previous) == expected
