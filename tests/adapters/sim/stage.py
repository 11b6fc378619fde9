"""A simulated node for tests, and a pod on it."""

from tests.engine.fakes import ManualClock

from flexlet.adapters.sim.hostfiles import MemoryFiles
from flexlet.adapters.sim.runtime import SimNode
from flexlet.api.units import CpuShares
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import ContainerConfig, Mount, SandboxConfig
from flexlet.core.runtime.shown import Container

PLENTY = RuntimeResources(cpu_shares=CpuShares(2))
POD = SandboxConfig(name="p", uid="u1", namespace="ns", log_directory="/logs", cgroup_parent="/kubepods/podu1")


class Stage:
    """A node whose clock the test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.files = MemoryFiles()
        self.node = SimNode(self.clock, files=self.files)
        self.runtime = self.node.runtime
        self.sandbox_id = ""

    async def start(
        self,
        *command: str,
        name: str = "c",
        attempt: int = 0,
        resources: RuntimeResources = PLENTY,
        mounts: tuple[Mount, ...] = (),
    ) -> str:
        """Start a container in the pod."""
        container_id = await self.create(*command, name=name, attempt=attempt, resources=resources, mounts=mounts)
        await self.runtime.start_container(container_id)
        return container_id

    async def create(
        self,
        *command: str,
        name: str = "c",
        attempt: int = 0,
        resources: RuntimeResources = PLENTY,
        mounts: tuple[Mount, ...] = (),
    ) -> str:
        """Make a container in the pod."""
        if not self.sandbox_id:
            self.sandbox_id = await self.runtime.run_sandbox(POD)
        config = ContainerConfig(
            name=name,
            attempt=attempt,
            image="busybox:1",
            command=command,
            log_path=f"{name}.{attempt}.log",
            mounts=mounts,
            resources=resources,
        )
        return await self.runtime.create_container(self.sandbox_id, config, POD)

    async def sh(self, script: str, **more: object) -> str:
        """Start a container that runs a script."""
        return await self.start("sh", "-c", script, **more)  # type: ignore[arg-type]

    async def shown(self, container_id: str) -> Container:
        """A container as the runtime shows it."""
        return next(each for each in (await self.runtime.inspect("u1")).containers if each.id == container_id)

    async def end(self, container_id: str) -> tuple[str, int, str, float]:
        """State, exit code, reason, and how long after the start of time it ended."""
        container = await self.shown(container_id)
        return (
            container.state,
            container.exit_code,
            container.reason,
            round(container.finished_at / 1e9 - 1_800_000_000, 6) if container.finished_at else 0.0,
        )

    def printed(self, name: str = "c", attempt: int = 0) -> str:
        """What a container has printed so far, without times and streams."""
        text = self.files.texts.get(f"/logs/{name}.{attempt}.log", "")
        return "\n".join(line.split(" ", 3)[3] for line in text.splitlines())
