"""Addresses for interactive streams; the runtime serves them itself, and each can be used once."""

from collections.abc import Sequence

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.calls import Calls, required


class StreamCalls:
    """`flexlet.ports.runtime.Streams` over CRI."""

    _calls: Calls

    async def exec_url(
        self, container_id: str, command: Sequence[str], *, tty: bool, stdin: bool, stdout: bool, stderr: bool
    ) -> str:
        """For a command in a container."""
        request = pb.ExecRequest(
            container_id=container_id, cmd=command, tty=tty, stdin=stdin, stdout=stdout, stderr=stderr
        )
        reply = await self._calls.ask("Exec", request, pb.ExecResponse, container_id)
        return required(reply.url, "Exec", "an address")

    async def attach_url(self, container_id: str, *, tty: bool, stdin: bool, stdout: bool, stderr: bool) -> str:
        """For the container's own process."""
        request = pb.AttachRequest(container_id=container_id, tty=tty, stdin=stdin, stdout=stdout, stderr=stderr)
        reply = await self._calls.ask("Attach", request, pb.AttachResponse, container_id)
        return required(reply.url, "Attach", "an address")

    async def port_forward_url(self, sandbox_id: str, ports: Sequence[int]) -> str:
        """For ports of a pod."""
        request = pb.PortForwardRequest(pod_sandbox_id=sandbox_id, port=ports)
        reply = await self._calls.ask("PortForward", request, pb.PortForwardResponse, sandbox_id)
        return required(reply.url, "PortForward", "an address")
