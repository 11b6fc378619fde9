"""What the runtime's contract is checked with: a runtime, an image with a shell, and somewhere to look."""

import itertools
from collections.abc import Callable
from typing import Final, Protocol, Self

from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import (
    NODE,
    ContainerConfig,
    ContainerSecurity,
    Mount,
    Namespaces,
    SandboxConfig,
    SandboxSecurity,
)
from flexlet.core.runtime.shown import Container, RuntimePod
from flexlet.errors import RuntimeFault
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.runtime import Runtime
from flexlet.testing.checks import Broken

MODEST: Final = RuntimeResources(
    cpu_shares=CpuShares(102),
    cpu_quota=Microseconds(200000),
    cpu_period=Microseconds(100000),
    memory_limit=Bytes(64 << 20),
    oom_score_adj=500,
    unified={"memory.oom.group": "1"},
)
SLEEPS: Final = "trap 'exit 0' TERM; sleep 1000 & wait"
"""A script that ends when it is asked to."""

_ON_THE_HOST: Final = Namespaces(network=NODE)


class RuntimeBench(Protocol):
    """The runtime and the node around it."""

    @property
    def runtime(self) -> Runtime:
        """What is checked."""
        ...

    @property
    def tree(self) -> CgroupTree:
        """The cgroups of the same node."""
        ...

    @property
    def image(self) -> str:
        """An image with a shell that is here already."""
        ...

    @property
    def log_directory(self) -> str:
        """Where logs may be written; it exists."""
        ...

    async def read_file(self, path: str) -> str:
        """A file of the node."""
        ...

    async def oom_scores(self, cgroup: str) -> set[int]:
        """The scores of the processes in a cgroup."""
        ...

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...


class TestPod:
    """One pod on the runtime under test, on the node's own network; `clean` leaves nothing of it."""

    __test__ = False
    _numbers = itertools.count(1)

    def __init__(self, bench: RuntimeBench) -> None:
        number = next(self._numbers)
        self.bench = bench
        self.uid = f"contract-{number}-0000-uid"
        self.config = SandboxConfig(
            name=f"pod-{number}",
            uid=self.uid,
            namespace="contract",
            log_directory=bench.log_directory,
            labels={"io.kubernetes.pod.uid": self.uid, "of": "sandbox"},
            annotations={"note": "sandbox"},
            cgroup_parent=f"/flexlet-contract/pod{number}",
            security=SandboxSecurity(namespaces=_ON_THE_HOST),
        )
        self.sandbox_id = ""

    async def __aenter__(self) -> Self:
        await self.bench.tree.create(self.cgroup)
        self.sandbox_id = await self.bench.runtime.run_sandbox(self.config)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        """Removing may have to wait for what a busy runtime has not yet noticed."""
        for _ in range(30):
            try:
                return await self._clean()
            except RuntimeFault:
                await self.bench.wait(1)
        return await self._clean()

    @property
    def cgroup(self) -> str:
        """The pod's cgroup."""
        return self.config.cgroup_parent.strip("/")

    async def create(
        self,
        script: str = SLEEPS,
        *,
        attempt: int = 0,
        resources: RuntimeResources = MODEST,
        command: tuple[str, ...] = (),
        image: str = "",
        mounts: tuple[Mount, ...] = (),
    ) -> str:
        """Make a container that runs a script, or a command."""
        config = ContainerConfig(
            name="c",
            attempt=attempt,
            image=image or self.bench.image,
            command=command or ("sh", "-c", script),
            mounts=mounts,
            labels={"io.kubernetes.pod.uid": self.uid, "of": "container"},
            annotations={"note": "container"},
            log_path=f"{self.uid}-{attempt}.log",
            resources=resources,
            security=ContainerSecurity(namespaces=_ON_THE_HOST),
        )
        return await self.bench.runtime.create_container(self.sandbox_id, config, self.config)

    async def start(self, script: str = SLEEPS, *, attempt: int = 0) -> str:
        """Make a container and start it."""
        container_id = await self.create(script, attempt=attempt)
        await self.bench.runtime.start_container(container_id)
        return container_id

    async def _clean(self) -> None:
        for sandbox in (await self.inspect()).sandboxes:
            await self.bench.runtime.stop_sandbox(sandbox.id)
            await self.bench.runtime.remove_sandbox(sandbox.id)
        await self.bench.tree.remove("flexlet-contract")

    async def inspect(self) -> RuntimePod:
        """The pod as the runtime shows it."""
        return await self.bench.runtime.inspect(self.uid)

    async def shown(self, container_id: str) -> Container:
        """A container as the runtime shows it."""
        return next(each for each in (await self.inspect()).containers if each.id == container_id)

    async def until(self, container_id: str, holds: Callable[[Container], bool]) -> Container:
        """Wait until something holds of a container."""
        for _ in range(300):
            container = await self.shown(container_id)
            if holds(container):
                return container
            await self.bench.wait(0.2)
        raise Broken(f"still {container}")
