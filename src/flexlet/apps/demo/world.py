"""What a step of the demo sees: the API, the node's kernel, the machine's hypervisor."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.apps.lab import Machine
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NODES, PODS, Cluster

NAMESPACE: Final = "default"
PATIENCE_S: Final = 300.0
_LOOK_S: Final = 0.1
_UNITS: Final = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


class Told(msgspec.Struct, frozen=True):
    """What a step changed, in words."""

    before: str
    after: str


class Unshown(FlexletError):
    """A step of the demo did not do what it said."""


class DemoWorld:
    """Short words for what steps do again and again."""

    def __init__(
        self, cluster: Cluster, machine: Machine, node: str, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self.cluster = cluster
        self.machine = machine
        self.node = node
        self.clock = clock
        self.say = say

    async def create(self, pod: dict[str, Any]) -> None:
        """Create a pod."""
        await self.cluster.create(PODS, NAMESPACE, pod)

    async def pod(self, name: str) -> dict[str, Any]:
        """A pod as the API has it."""
        found: dict[str, Any] = msgspec.json.decode(await self.cluster.get(PODS, NAMESPACE, name))
        return found

    async def resize(self, name: str, resources: dict[str, Any]) -> None:
        """Ask for other pod-level resources."""
        body = {"spec": {"resources": resources}}
        await self.cluster.patch(PODS, NAMESPACE, name, body, kind="strategic", subresource="resize")

    async def allocatable(self) -> dict[str, str]:
        """What the node has for pods."""
        node = msgspec.json.decode(await self.cluster.get(NODES, "", self.node))
        found: dict[str, str] = node["status"]["allocatable"]
        return found

    async def until(self, what: str, holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """Wait until an awaitable says yes; its answer."""
        try:
            async with asyncio.timeout(patience_s):
                while not (answer := await holds()):
                    await self.clock.sleep(_LOOK_S)
        except TimeoutError as error:
            raise Unshown(f"{what}: not within {patience_s:.0f} s") from error
        return answer

    async def running(self, name: str) -> dict[str, Any]:
        """Wait until a pod runs and is ready."""

        async def holds() -> dict[str, Any] | None:
            pod = await self.pod(name)
            conditions = pod["status"].get("conditions") or ()
            ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
            return pod if ready else None

        found: dict[str, Any] = await self.until(f"pod {name} runs", holds)
        return found

    async def ended(self, name: str) -> dict[str, Any]:
        """Wait until a pod has failed."""

        async def holds() -> dict[str, Any] | None:
            pod = await self.pod(name)
            return pod if pod["status"].get("phase") == "Failed" else None

        found: dict[str, Any] = await self.until(f"pod {name} ends", holds)
        return found

    async def inside(self, *command: str) -> str:
        """What a command in the guest prints."""
        done = await self.machine.guest.run(command)
        if done.exit_code != 0:
            raise Unshown(f"{' '.join(command)} in the guest: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode(errors="replace").strip()

    async def cgroup(self, pod: dict[str, Any], file: str) -> str:
        """A file of a pod's cgroup, as the kernel shows it."""
        tier = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[
            pod["status"]["qosClass"]
        ]
        return await self.inside("cat", f"/sys/fs/cgroup/kubepods/{tier}pod{pod['metadata']['uid']}/{file}")


def container_ids(pod: dict[str, Any]) -> list[str]:
    """Which runs a pod consists of: the same after as before, if nothing restarted."""
    return sorted(each["containerID"] for each in pod["status"]["containerStatuses"])


def amount(number: int) -> str:
    """Bytes for people."""
    unit, size = next(((unit, size) for unit, size in _UNITS if number >= size), ("", 1))
    return f"{number / size:.4g}{unit}"
