"""Sandboxes of the simulated runtime."""

from flexlet.adapters.sim import refusals
from flexlet.adapters.sim.part import Part
from flexlet.adapters.sim.records import SandboxRecord, uses_host_network
from flexlet.adapters.sim.trouble import noted
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import SandboxConfig


class SandboxPart(Part):
    """`flexlet.ports.runtime.Sandboxes` in memory."""

    @noted
    async def run_sandbox(self, config: SandboxConfig, handler: str = "") -> str:
        """Make and start a sandbox; its name must be free."""
        sandbox = SandboxRecord(
            id=self.containerd.new_id(), config=config, handler=handler, created_at=self.containerd.time_ns()
        )
        for other in self.containerd.sandboxes.values():
            if other.name == sandbox.name:
                raise refusals.reserved("sandbox", sandbox.name, other.id)
        if not uses_host_network(config):
            sandbox.ip = self.containerd.new_address()
        self.containerd.sandboxes[sandbox.id] = sandbox
        self.containerd.pause(sandbox)
        self.containerd.tell(config.uid)
        return sandbox.id

    @noted
    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop it and everything in it; containers get no time."""
        sandbox = self.containerd.sandboxes.get(sandbox_id)
        if sandbox is not None:
            self.containerd.halt(sandbox)

    @noted
    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Forget it, with all its containers."""
        sandbox = self.containerd.sandboxes.get(sandbox_id)
        if sandbox is None:
            return
        self.containerd.halt(sandbox)
        for container in self.containerd.containers_of(sandbox):
            del self.containerd.containers[container.id]
        del self.containerd.sandboxes[sandbox_id]
        self.containerd.tell(sandbox.config.uid)

    @noted
    async def update_sandbox(
        self, sandbox_id: str, resources: RuntimeResources, overhead: RuntimeResources | None
    ) -> None:
        """Not known to containerd 1.7, which the real adapter takes in its stride."""

    @noted
    async def update_pod_cidr(self, cidr: str) -> None:
        """Nothing comes of it without a template for networks."""
