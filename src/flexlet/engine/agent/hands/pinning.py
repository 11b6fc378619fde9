"""Give a running container other CPUs."""

from flexlet.api.units import CpuShares, Microseconds
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.deeds import SetCpus
from flexlet.core.agent.observations import Done, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.cpu import UNLIMITED
from flexlet.core.hotplug.tuning import sized
from flexlet.engine.agent.hands.tools import Tools


async def set_cpus(tools: Tools, deed: SetCpus, record: PodRecord, world: World) -> Outcome:
    """Ask the runtime, once the books that say so are on disk; everything else stays as it is.

    A runtime sets everything again that it was once told, also what was changed beside it since the container
    started because the node has another size. So it is told of that, too.
    """
    await tools.ledger.managers.keep()
    cgroups = world.setup.cgroups
    lifts = deed.unlimited and cgroups.cpu_cfs_quota
    resources = RuntimeResources(
        cpu_shares=CpuShares(0),
        cpu_quota=UNLIMITED if lifts else Microseconds(0),
        cpu_period=cgroups.cpu_cfs_quota_period if lifts else Microseconds(0),
        cpuset_cpus=deed.cpus,
        cpuset_mems=deed.mems,
        unified=sized(as_allocated(record, world.setup), deed.container, world.setup.host, cgroups),
    )
    await tools.runtime.update_container(deed.container_id, resources)
    return Done()
