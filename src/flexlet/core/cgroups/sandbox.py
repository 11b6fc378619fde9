"""What the runtime is told about a pod's sandbox.

A runtime that starts a virtual machine sizes it by these numbers. They leave the overhead out, which travels
beside them as a request that equals its limit.
"""

from flexlet.api.pod import Pod
from flexlet.api.quantity import ZERO
from flexlet.core.cgroups.containers import RuntimeResources, runtime_resources
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.resources.effective import pod_limits, pod_requests
from flexlet.core.resources.names import CPU, MEMORY


def sandbox_resources(
    pod: Pod, settings: CgroupSettings = DEFAULTS, *, exclusive_cpus: bool = False
) -> RuntimeResources:
    """The pod's effective resources without overhead."""
    requests, limits = pod_requests(pod, overhead=False), pod_limits(pod, overhead=False)
    return runtime_resources(
        requests.get(CPU), limits.get(CPU, ZERO), limits.get(MEMORY, ZERO), settings, exclusive_cpus=exclusive_cpus
    )


def overhead_resources(pod: Pod, settings: CgroupSettings = DEFAULTS) -> RuntimeResources | None:
    """The overhead of the pod's runtime class, None if it has none."""
    if not pod.spec.overhead:
        return None
    cpu, memory = pod.spec.overhead.get(CPU, ZERO), pod.spec.overhead.get(MEMORY, ZERO)
    return runtime_resources(cpu, cpu, memory, settings)
