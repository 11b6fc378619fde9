"""Looking at the simulated runtime."""

from collections.abc import AsyncGenerator
from typing import Final

from flexlet.adapters.sim.part import Part
from flexlet.adapters.sim.trouble import noted
from flexlet.core.runtime.shown import Glimpse, RuntimeCondition, RuntimePod, RuntimeStatus, RuntimeVersion

WELL: Final = RuntimeStatus(
    conditions=(
        RuntimeCondition(type="RuntimeReady", status=True),
        RuntimeCondition(type="NetworkReady", status=True),
    )
)


class ObservingPart(Part):
    """`flexlet.ports.runtime.Observing` in memory."""

    health: RuntimeStatus = WELL
    driver: str | None = None
    """What it says of its cgroup driver; containerd 1.7 says nothing."""

    @noted
    async def version(self) -> RuntimeVersion:
        """Who answers."""
        return RuntimeVersion("containerd", "1.7.24")

    @noted
    async def status(self) -> RuntimeStatus:
        """How the runtime feels."""
        return self.health

    @noted
    async def cgroup_driver(self) -> str | None:
        """``cgroupfs`` or ``systemd``; None if the runtime cannot say."""
        return self.driver

    @noted
    async def overview(self) -> tuple[Glimpse, ...]:
        """A quick look over every sandbox and container."""
        return (
            *(
                Glimpse(each.config.uid, each.id, each.state, is_sandbox=True)
                for each in self.containerd.sandboxes.values()
            ),
            *(
                Glimpse(each.sandbox.config.uid, each.id, each.state)
                for each in self.containerd.containers.values()
            ),
        )

    @noted
    async def inspect(self, uid: str) -> RuntimePod:
        """Everything about one pod, newest first: later ones were remembered later."""
        sandboxes = [each.shown() for each in self.containerd.sandboxes.values() if each.config.uid == uid]
        containers = [
            each.shown() for each in self.containerd.containers.values() if each.sandbox.config.uid == uid
        ]
        return RuntimePod(uid, tuple(reversed(sandboxes)), tuple(reversed(containers)))

    async def events(self) -> AsyncGenerator[str]:
        """Uids of pods in which something happened, while the runtime is there."""
        heard: list[str] = []
        self.containerd.listeners.append(heard)
        try:
            while not self.is_away:
                while heard:
                    yield heard.pop(0)
                await self.containerd.kernel.wait()
        finally:
            self.containerd.listeners.remove(heard)
