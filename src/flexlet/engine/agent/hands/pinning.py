"""Give a running container other CPUs."""

from flexlet.api.units import CpuShares, Microseconds
from flexlet.core.agent.deeds import SetCpus
from flexlet.core.agent.observations import Done, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.cpu import UNLIMITED
from flexlet.engine.agent.hands.tools import Tools


async def set_cpus(tools: Tools, deed: SetCpus, _: PodRecord, world: World) -> Outcome:
    """Ask the runtime, once the books that say so are on disk; everything else stays as it is."""
    await tools.ledger.managers.keep()
    cgroups = world.setup.cgroups
    lifts = deed.unlimited and cgroups.cpu_cfs_quota
    resources = RuntimeResources(
        cpu_shares=CpuShares(0),
        cpu_quota=UNLIMITED if lifts else Microseconds(0),
        cpu_period=cgroups.cpu_cfs_quota_period if lifts else Microseconds(0),
        cpuset_cpus=deed.cpus,
        cpuset_mems=deed.mems,
    )
    await tools.runtime.update_container(deed.container_id, resources)
    return Done()
