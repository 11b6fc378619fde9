"""How a step of a resize ended."""

from msgspec.structs import replace

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import setbacks
from flexlet.core.agent.deeds import TakeStep
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resize import podcgroup
from flexlet.core.resize.podcgroup import Kernel
from flexlet.core.resize.safety import together
from flexlet.core.resize.steps import UpdateContainer, WritePodCgroup, recorded


def taken(
    record: PodRecord, deed: TakeStep, outcome: Outcome, setup: NodeSetup, now: float
) -> tuple[PodRecord, tuple[RecordEvent, ...]]:
    """The step is recorded as actuated, or the attempt has failed in this point."""
    step = deed.step
    if isinstance(outcome, Failed):
        failures = (*record.failures, outcome.message)
        doubtful = {step.container} if isinstance(step, UpdateContainer) else frozenset()
        record = replace(
            record,
            failed_steps=record.failed_steps | {step.subject},
            failures=failures,
            doubtful=record.doubtful | doubtful,
            unverified=True,
        )
        return setbacks.resize_failed(record, setup, together(list(failures)), now)
    cgroup = record.cgroup
    if isinstance(step, WritePodCgroup) and cgroup is not None:
        kernel = Kernel(page_size=setup.host.page_size, driver=setup.driver)
        cgroup = podcgroup.written(cgroup, step.values, kernel)
    after = replace(
        record,
        actuated=recorded(record.actuated, step),
        cgroup=cgroup,
        taken=(*record.taken, step),
        unverified=True,
        order=max(record.order, outcome.order) if isinstance(outcome, Done) else record.order,
    )
    return after, ()
