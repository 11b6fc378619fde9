"""What the node has at this moment, for ``/metrics``: looked up when somebody asks, and never before."""

from collections import Counter
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.resize import metrics, triggers
from flexlet.core.runtime.shown import CREATED, EXITED, READY, RUNNING, UNKNOWN
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.watching import Watching
from flexlet.ports.meters import Meters

_STATES: Final = {CREATED: "created", RUNNING: "running", EXITED: "exited", UNKNOWN: "unknown"}
_STATIC: Final = ("true", "")


class Gauges:
    """Reads the loop's world."""

    def __init__(self, meters: Meters, loop: AgentLoop, watching: Watching) -> None:
        self._meters = meters
        self._loop = loop
        self._watching = watching

    def refresh(self) -> None:
        """Set them all."""
        world = self._loop.world
        self._running(world)
        self._wanted(world)
        self._resizes(world)
        self._managers(world)
        self._meters.set("kubelet_pleg_last_seen_seconds", value=self._watching.last_look_at)
        self._meters.set("flexlet_agent_rounds_total", value=self._loop.rounds)
        self._meters.set("flexlet_agent_late_rounds_total", value=self._loop.late_rounds)
        self._meters.set("flexlet_agent_longest_round_seconds", value=self._loop.longest_round_s)

    def _running(self, world: World) -> None:
        shown = [record.shown for record in world.pods.values() if record.shown is not None]
        ready = sum(any(each.state == READY for each in pod.sandboxes) for pod in shown)
        states = Counter(run.state for pod in shown for run in pod.containers)
        self._meters.set("kubelet_running_pods", value=ready)
        for state, word in _STATES.items():
            self._meters.set("kubelet_running_containers", {"container_state": word}, states[state])

    def _wanted(self, world: World) -> None:
        desired = [record for record in world.pods.values() if not record.gone]
        active = [record for record in desired if not record.stopped and not triggers.is_terminal(record.pod)]
        for static in _STATIC:
            words = {"static": static}
            self._meters.set("kubelet_desired_pods", words, sum(_static(each) == static for each in desired))
            self._meters.set("kubelet_active_pods", words, sum(_static(each) == static for each in active))
        ephemeral = sum(len(each.pod.spec.ephemeral_containers) for each in desired)
        self._meters.set("kubelet_managed_ephemeral_containers", value=ephemeral)
        self._meters.set("kubelet_mirror_pods", value=sum(each.mirror is not None for each in desired))
        working = Counter((_lifecycle(each), _config(each), _static(each)) for each in world.pods.values())
        self._meters.forget("kubelet_working_pods", {})
        for (lifecycle, config, static), count in working.items():
            words = {"lifecycle": lifecycle, "config": config, "static": static}
            self._meters.set("kubelet_working_pods", words, count)

    def _resizes(self, world: World) -> None:
        resizes = [record.resize for record in world.pods.values()]
        deferred = sum(each.is_deferred for each in resizes)
        infeasible = sum(each.is_infeasible for each in resizes)
        in_progress = sum(each.in_progress is not None for each in resizes)
        self._meters.set(metrics.PENDING.name, {"reason": "deferred"}, deferred)
        self._meters.set(metrics.PENDING.name, {"reason": "infeasible"}, infeasible)
        self._meters.set(metrics.IN_PROGRESS.name, value=in_progress)

    def _managers(self, world: World) -> None:
        """CPUs that are given away and those that are left; a node that manages none has no such numbers."""
        if not world.setup.managers.pins_cpus:
            return
        book = world.managers.cpu
        owned = CpuSet.of(cpu for own in book.entries.values() for cpus in own.values() for cpu in cpus)
        self._meters.set("kubelet_cpu_manager_exclusive_cpu_allocation_count", value=len(owned))
        left = len(book.shared - book.reserved) * 1000
        self._meters.set("kubelet_cpu_manager_shared_pool_size_millicores", value=left)
        counts = Counter(cpu.numa for cpu in world.setup.machine.cpus if cpu.id in owned)
        self._meters.forget("kubelet_cpu_manager_allocation_per_numa", {})
        for node in sorted({cpu.numa for cpu in world.setup.machine.cpus}):
            words = {"numa_node": str(node)}
            self._meters.set("kubelet_cpu_manager_allocation_per_numa", words, counts[node])


def _static(record: PodRecord) -> str:
    return "true" if record.source == FILE else ""


def _lifecycle(record: PodRecord) -> str:
    if record.stopped:
        return "terminated"
    return "sync" if record.stopping_since is None else "terminating"


def _config(record: PodRecord) -> str:
    return "orphan" if record.gone else "desired"
