"""Grants made durable, the pod's cgroup, and the single steps of a resize.

What is recorded as actuated is never ahead of the world: a step is recorded after it succeeded. A crash between
the two repeats the step, which does no harm.
"""

from flexlet.core.agent.deeds import CreatePodCgroup, ForgetPod, RemovePodCgroup, SaveAllocation, TakeStep
from flexlet.core.agent.observations import Done, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups import values
from flexlet.core.cgroups.sandbox import overhead_resources
from flexlet.core.resize import steps
from flexlet.core.resize.allocation import NOTHING
from flexlet.core.resize.steps import Step, UpdateContainer, WritePodCgroup
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import RuntimeFault


async def save_allocation(tools: Tools, deed: SaveAllocation, record: PodRecord, _: World) -> Outcome:
    """Write a grant to disk, its place in the managers' books first."""
    await tools.ledger.managers.keep()
    await tools.ledger.allocated.put(record.pod_uid, deed.allocation)
    return Done()


async def forget_pod(tools: Tools, _: ForgetPod, record: PodRecord, __: World) -> Outcome:
    """Drop the pod from both books."""
    tools.ledger.forget(record.pod_uid)
    tools.objects.forget(record.uid)
    return Done()


async def create_pod_cgroup(tools: Tools, deed: CreatePodCgroup, record: PodRecord, _: World) -> Outcome:
    """Make it, set its values, record the pod level."""
    await tools.cgroups.create(deed.path)
    await tools.cgroups.write(deed.path, deed.files)
    await tools.ledger.actuated.put(record.pod_uid, deed.actuated)
    return Done()


async def remove_pod_cgroup(tools: Tools, deed: RemovePodCgroup, _: PodRecord, __: World) -> Outcome:
    """Remove it with whatever is left in it."""
    await tools.cgroups.remove(deed.path)
    return Done()


async def take_step(tools: Tools, deed: TakeStep, record: PodRecord, world: World) -> Outcome:
    """Do it, then record it."""
    await _act(tools, deed, record, world)
    before = tools.ledger.actuated.get(record.pod_uid) or NOTHING
    after = steps.recorded(before, deed.step)
    if after is not before:
        await tools.ledger.actuated.put(record.pod_uid, after)
    return Done(order=tools.order())


async def _act(tools: Tools, deed: TakeStep, record: PodRecord, world: World) -> None:
    step: Step = deed.step
    match step:
        case UpdateContainer():
            await tools.runtime.update_container(deed.container_id, step.resources)
        case WritePodCgroup():
            await tools.cgroups.write(deed.path, values.files(step.values))
            await _tell_runtime(tools, deed, step, record, world)
        case _:
            return


async def _tell_runtime(
    tools: Tools, deed: TakeStep, step: WritePodCgroup, record: PodRecord, world: World
) -> None:
    """Best effort: the cgroup is written, and a runtime that cannot follow does not undo it."""
    overhead = overhead_resources(record.pod, world.setup.cgroups)
    try:
        await tools.runtime.update_sandbox(deed.sandbox_id, step.sandbox, overhead)
    except RuntimeFault:
        return
