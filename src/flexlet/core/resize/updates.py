"""What the runtime is sent for a running container that changes size.

Runtimes merge an update into what they have: a zero leaves a value alone. So a container without a cpu request
keeps its weight (upstream sends the least shares, kubernetes/kubernetes#135260), and "no cpu limit" must be said
with -1, together with the period, because one runtime takes a zero quota for unlimited. Huge pages are left out:
some runtimes append them on every update. ``oom_score_adj`` is sent although runtimes only use it for new
containers.
"""

from msgspec.structs import replace

from flexlet.api.pod import Container, Pod, ResourceRequirements
from flexlet.api.quantity import ZERO
from flexlet.api.units import CpuShares, Microseconds
from flexlet.core.cgroups import containers, cpu
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.settings import CgroupSettings, Host
from flexlet.core.resources.names import CPU, MEMORY


def runtime_update(
    pod: Pod,
    container: Container,
    given: ResourceRequirements,
    host: Host,
    settings: CgroupSettings,
    *,
    knows_cpu: bool = True,
    exclusive_cpus: bool = False,
) -> RuntimeResources:
    """The update that leaves the container with `given`, whose limits include inherited ones.

    `knows_cpu` is False if nobody knows what cpu the container has; then its cpu is left alone.
    """
    created = containers.container_resources(pod, container, host, settings)
    limit = given.limits.get(CPU, ZERO)
    amounts = containers.runtime_resources(
        given.requests.get(CPU), limit, given.limits.get(MEMORY, ZERO), settings, exclusive_cpus=exclusive_cpus
    )
    quota, period = (amounts.cpu_quota or cpu.UNLIMITED, amounts.cpu_period) if amounts.cpu_period else (0, 0)
    return replace(
        created,
        cpu_shares=amounts.cpu_shares if CPU in given.requests else CpuShares(0),
        cpu_quota=Microseconds(quota if knows_cpu else 0),
        cpu_period=Microseconds(period if knows_cpu else 0),
        memory_limit=amounts.memory_limit,
        hugepage_limits={},
    )
