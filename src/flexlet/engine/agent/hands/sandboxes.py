"""Make, stop and remove a pod's sandbox."""

from flexlet.core.agent.containers import names, sandbox
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.deeds import RemoveSandbox, RunSandbox, StopSandbox
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands import leftovers
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import RuntimeFault


async def run(tools: Tools, deed: RunSandbox, record: PodRecord, world: World) -> Outcome:
    """Make and start it; its log directory must be there first."""
    pod = sandbox.as_allocated(record, world.setup)
    config = sandbox.sandbox_config(pod, world.setup, deed.attempt)
    if isinstance(config, Problem):
        return Failed(message=config.message)
    await tools.files.make_log_directory(names.log_directory(pod, world.setup))
    try:
        made = await tools.runtime.run_sandbox(config, sandbox.handler(pod))
    except RuntimeFault as fault:
        return Failed(message=f"rpc error: code = {fault.code} desc = {fault.detail}")
    return Done(id=made)


async def stop(tools: Tools, deed: StopSandbox, record: PodRecord, world: World) -> Outcome:
    """Stop it and free its network."""
    await tools.runtime.stop_sandbox(deed.sandbox_id)
    await leftovers.end(tools, record, world, deed.sandbox_id)
    return Done()


async def remove(tools: Tools, deed: RemoveSandbox, record: PodRecord, world: World) -> Outcome:
    """Stop it once more, which frees a network that was left behind, and forget it."""
    await tools.runtime.stop_sandbox(deed.sandbox_id)
    await leftovers.end(tools, record, world, deed.sandbox_id)
    await tools.runtime.remove_sandbox(deed.sandbox_id)
    return Done()
