"""End what the runtime has lost and therefore cannot stop, so that nothing runs twice."""

from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands.looking import cgroup_path
from flexlet.engine.agent.hands.tools import Tools


async def end(tools: Tools, record: PodRecord, world: World, identity: str) -> None:
    """Kill the processes of a sandbox or a run if it is in doubt; the runtime was told to stop it before."""
    if identity not in record.doubts:
        return
    path = cgroup_path(record, world)
    for name in await tools.cgroups.children(path):
        if identity in name:
            await tools.cgroups.remove(f"{path}/{name}")
