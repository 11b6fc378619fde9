"""What the containers of a pod with a good sandbox need: who is to be started, who stopped, whether it is over.

Init containers are judged from the last one backwards, since completed ones may have been removed: the last one
that left a trace says how far the pod has come. A plain one must have ended well, a sidecar must have started,
before the next begins; once a regular container was made, plain ones are never run again. Regular containers are
judged each by itself. A pod of which nothing is kept and nothing to be started is over, sidecars or not.

Follows `computePodActions` and `computeInitContainerActions` of Kubernetes 1.36.3.
"""

from functools import lru_cache
from typing import Final

from flexlet.api.nodepod import NodeContainer
from flexlet.core.agent import probing, runs
from flexlet.core.agent.containers import names
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.killing import Stop, grace
from flexlet.core.runtime.shown import CREATED, EXITED, RUNNING, UNKNOWN, Container

OOM_KILLED: Final = "OOMKilled"
NEVER: Final = "Never"


class Survey:
    """The answer for one pod at one moment, made by looking at it."""

    def __init__(self, draft: Draft) -> None:
        self.starts: list[NodeContainer] = []
        self.stops: list[Stop] = []
        self.is_over = False
        self._draft = draft
        self._pod = draft.pod
        self._shown = draft.shown
        self._look()

    def _look(self) -> None:
        # One whose containers have all ended for good needs no init containers either.
        self.is_over = all(self._has_ended(each) for each in self._pod.spec.containers)
        if not self.is_over and self._inits():
            self._regulars()
        if self.is_over:
            self.starts, self.stops = [], []
        else:
            self.starts[:0] = [each for each in self._pod.spec.ephemeral_containers if self._is_new(each)]

    def _is_new(self, container: NodeContainer) -> bool:
        """Ephemeral containers are started once, even while others are not through."""
        return self._shown.newest(container.name) is None and not self._draft.is_starting(container.name)

    # Init containers

    def _inits(self) -> bool:
        """Whether all init containers are through; a pod without any is."""
        inits = self._pod.spec.init_containers
        if not inits:
            return True
        initialized = passed = self._has_regular()
        found: list[NodeContainer] = []
        for index in range(len(inits) - 1, -1, -1):
            container, following = inits[index], inits[index + 1 : index + 2]
            run = self._shown.newest(container.name)
            if run is None and not self._draft.is_starting(container.name):
                if passed and container.is_sidecar:
                    found.append(container)
                continue
            if passed and not container.is_sidecar:
                continue
            if self._is_through(container, run, found):
                initialized = initialized or not following
                found += [] if passed else following
            if self.is_over:
                return False
            passed = True
        self.starts += reversed(found if passed else [inits[0]])
        return initialized

    def _has_regular(self) -> bool:
        """Ended ones do not count: they may be from before the node was rebooted."""
        newest = (self._shown.newest(each.name) for each in self._pod.spec.containers)
        return any(run is not None and run.state in {CREATED, RUNNING} for run in newest)

    def _is_through(self, container: NodeContainer, run: Container | None, found: list[NodeContainer]) -> bool:
        """Whether the next init container may begin; also notes what this one needs."""
        if run is None or self._draft.is_starting(container.name):
            return False
        if container.is_sidecar and run.state == RUNNING:
            return self._keep_sidecar(container, run)
        if self._is_unknown(run):
            self.is_over = not container.is_sidecar and not self._may_restart(container)
            self._kill_unknown(run, "Init container")
            return False
        if run.state == RUNNING:
            return False
        if run.state == EXITED and not container.is_sidecar and not _has_failed(run):
            return True
        if container.is_sidecar or run.id in self._draft.record.replaced or self._restarts(container, run):
            found.append(container)
        else:
            self.is_over = True
        return False

    def _keep_sidecar(self, container: NodeContainer, run: Container) -> bool:
        """One that runs: replaced if it must be, through as soon as it has started."""
        name = container.name
        failed = probing.failed_liveness(self._draft.record, name)
        has_started = probing.has_started(self._draft.record, self._draft.setup, name)
        if failed == "startup":
            self._kill(run, f"Init container {name} failed startup probe", self._grace(container, failed))
        elif run.id in self._draft.record.doomed:
            self._kill(run, self._draft.record.doomed[run.id])
        elif has_started and is_changed(container, run):
            self._kill(run, f"Init container {name} definition changed")
        elif failed:
            self._kill(run, f"Init container {name} failed liveness probe", self._grace(container, failed))
        return has_started and failed != "startup"

    # Regular containers

    def _has_ended(self, container: NodeContainer) -> bool:
        run = self._shown.newest(container.name)
        if run is None or run.state != EXITED or self._draft.is_starting(container.name):
            return False
        return run.id not in self._draft.record.replaced and not self._restarts(container, run)

    def _regulars(self) -> None:
        kept = sum(self._is_kept(each) for each in self._pod.spec.containers)
        self.is_over = not kept

    def _is_kept(self, container: NodeContainer) -> bool:
        """Whether the container runs on, or will run; also notes what it needs."""
        name, run = container.name, self._shown.newest(container.name)
        if self._draft.is_starting(name):
            return True
        if run is not None and run.state == RUNNING:
            return self._keep(container, run)
        if run is not None and self._is_unknown(run):
            self._kill_unknown(run, "Container")
            return True
        if (run is not None and run.id in self._draft.record.replaced) or self._restarts(container, run):
            self.starts.append(container)
            return True
        return False

    def _keep(self, container: NodeContainer, run: Container) -> bool:
        record, name = self._draft.record, container.name
        if self._draft.is_stopping(run):
            return True
        if run.id in record.doomed:
            # What comes of it is decided by its exit code.
            self.stops.append(Stop(run, record.doomed[run.id], grace(self._draft)))
            return True
        if is_changed(container, run):
            self._kill(run, f"Container {name} definition changed, will be restarted")
            return True
        failed = probing.failed_liveness(record, name)
        if failed is None:
            return True
        reason, wait = f"Container {name} failed {failed} probe", self._grace(container, failed)
        if self._may_restart(container):
            self._kill(run, f"{reason}, will be restarted", wait)
            return True
        self.stops.append(Stop(run, reason, wait))
        return False

    def _may_restart(self, container: NodeContainer) -> bool:
        """By policy alone: while a container runs there is no exit code to ask rules about."""
        return (container.restart_policy or self._pod.spec.restart_policy) != NEVER

    # Both

    def _restarts(self, container: NodeContainer, run: Container | None) -> bool:
        return runs.starts(self._pod, container, run)

    def _kill(self, run: Container, reason: str, grace_s: int | None = None) -> None:
        wait = grace(self._draft) if grace_s is None else grace_s
        self.stops.append(Stop(run, reason, wait, replaces=True))

    def _is_unknown(self, run: Container) -> bool:
        """Until it was stopped: it may run as long as that takes."""
        was_stopped = run.id in self._draft.record.replaced and not self._draft.is_stopping(run)
        return run.state == UNKNOWN and not was_stopped

    def _kill_unknown(self, run: Container, what: str) -> None:
        """Nobody knows whether it runs; it must not run twice."""
        self._kill(run, f'{what} is in "unknown" state, try killing it before restart')

    def _grace(self, container: NodeContainer, probe: str) -> int:
        """A probe may say how patiently the container that failed it is stopped."""
        asked = container.startup_probe if probe == "startup" else container.liveness_probe
        own = asked.termination_grace_period_seconds if asked is not None else None
        return grace(self._draft) if own is None else own


def is_changed(container: NodeContainer, run: Container) -> bool:
    """Whether the container was made from another definition; one without a mark is taken as it is."""
    mark = run.annotations.get(names.HASH)
    return mark is not None and mark != _hash(container.name, container.image)


@lru_cache(maxsize=1024)
def _hash(name: str, image: str) -> str:
    """Asked at every look at every running container, and costly."""
    return names.container_hash(NodeContainer(name=name, image=image))


def _has_failed(run: Container) -> bool:
    return run.exit_code != 0 or run.reason == OOM_KILLED
