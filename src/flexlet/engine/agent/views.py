"""The agent as its endpoint sees it: pods, runs, what to measure; read from the world, never waiting."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from flexlet.api import decode
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.logs.runs import Reported
from flexlet.core.machine.machine import Machine
from flexlet.core.runtime.shown import RuntimePod
from flexlet.core.stats.sources import NodeSource
from flexlet.engine.agent import measuring
from flexlet.ports.nodeviews import ContainerView, PodView, Run

_NOTHING = RuntimePod("")


class AgentViews:
    """Obeys `flexlet.ports.nodeviews.NodeViews`."""

    def __init__(
        self,
        world: Callable[[], World],
        machine: Callable[[], Machine],
        configuration: bytes,
        health: Callable[[], str],
    ) -> None:
        self._world = world
        self._machine = machine
        self._configuration = configuration
        self._health = health

    def health(self) -> str:
        """What is wrong with the agent's own loop."""
        return self._health()

    def pod(self, namespace: str, name: str) -> PodView | None:
        """A pod that should run here."""
        for record in self._world().pods.values():
            meta = record.pod.metadata
            if meta.name == name and meta.namespace == namespace and not record.gone:
                return _view(record)
        return None

    def is_running(self, container_id: str) -> bool:
        """Whether a run goes on."""
        records = self._world().pods.values()
        return any(run.id == container_id for record in records for run in _shown(record).running)

    def desired_pods(self) -> bytes:
        """As a PodList."""
        return _pod_list(record.api_pod for record in self._world().pods.values() if not record.gone)

    def running_pods(self) -> bytes:
        """As a PodList of what the runtime has."""
        return _pod_list(record.api_pod for record in self._world().pods.values() if _shown(record).running)

    def configuration(self) -> bytes:
        """The KubeletConfiguration in effect."""
        return self._configuration

    def to_measure(self) -> NodeSource:
        """Pods with a sandbox, and the machine."""
        world = self._world()
        return measuring.source(world, self._machine(), world.pods.values())


def _shown(record: PodRecord) -> RuntimePod:
    return record.shown or _NOTHING


def _view(record: PodRecord) -> PodView:
    meta, shown = record.pod.metadata, _shown(record)
    spec, status = record.pod.spec, record.api_pod.status
    statuses = {
        each.name: each
        for each in (
            *status.container_statuses,
            *status.init_container_statuses,
            *status.ephemeral_container_statuses,
        )
    }
    return PodView(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        mirror_uid=record.mirror.metadata.uid if record.mirror is not None else "",
        sandbox_id=shown.sandboxes[0].id if shown.sandboxes else "",
        containers=tuple(
            ContainerView(
                name=each.name,
                tty=each.tty,
                stdin=each.stdin,
                reported=_reported(statuses.get(each.name)),
                runs=tuple(Run(run.id, run.log_path, run.is_running) for run in shown.runs(each.name)),
            )
            for each in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
        ),
    )


def _reported(status: NodeContainerStatus | None) -> Reported | None:
    if status is None:
        return None
    waiting = status.state.get("waiting")
    return Reported(
        waiting=None if waiting is None else waiting.get("reason", ""),
        running=_plain_id(status.container_id) if "running" in status.state else None,
        terminated=_ended(status.state),
        last_terminated=_ended(status.last_state),
    )


def _ended(state: dict[str, Any]) -> str | None:
    found = state.get("terminated")
    return None if found is None else _plain_id(found.get("containerID", ""))


def _plain_id(container_id: str) -> str:
    """Without the runtime's name in front."""
    return container_id.partition("://")[2] or container_id


def _pod_list(pods: Iterable[msgspec.Struct]) -> bytes:
    items = [decode.to_value(pod) for pod in pods]
    return msgspec.json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})
