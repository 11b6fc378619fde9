"""A lab machine as a node of a real Kubernetes control plane.

The node is called ``localhost``: the API server reaches nodes by their host name, and this one leads to the port
that QEMU forwards into the guest.
"""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from bench.controlplane import BIN, VERSION, ControlPlane

from flexlet.apps import vmnode
from flexlet.apps.lab import Machine, running
from flexlet.core.lab.spec import MachineSpec

NODE: Final = "localhost"
PATIENCE_S: Final = 600.0


@contextlib.asynccontextmanager
async def joined(
    control_plane: ControlPlane, data: Path, progress: Callable[[str], None], agent: str | None = None
) -> AsyncIterator[Machine]:
    """A booted machine whose agent was told to join; `agent` is another command line for it."""
    port = vmnode.free_port()
    files = vmnode.config_files(
        NODE,
        control_plane.node_kubeconfig(NODE, vmnode.HOST_SEEN_FROM_GUEST),
        control_plane.ca,
        vmnode.kubelet_configuration(port),
        "InPlaceNodeResourceResize=true",
    )
    if agent is not None:
        files["node.env"] += f"AGENT={agent!r}\n".encode()
    async with running(MachineSpec("clusternode"), files, {port: port}, progress, data=data) as machine:
        yield machine


class Kubectl:
    """The kubectl that was built, against a control plane."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = [str(BIN / f"kubectl-{VERSION}"), "--kubeconfig", str(kubeconfig)]

    def __call__(self, *arguments: str, text: str = "", timeout: float = 120) -> str:
        """Its output; CalledProcessError with what it complained about otherwise."""
        done = subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object."""
        found: dict[str, Any] = json.loads(self("get", kind, name, "-o", "json"))
        return found

    async def until(self, what: str, holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """Ask again and again until the answer is yes; what cannot be asked yet is no answer."""
        try:
            async with asyncio.timeout(patience_s):
                return await self._answer(holds)
        except TimeoutError as error:
            raise AssertionError(f"{what}: not within {patience_s:g} s") from error

    @staticmethod
    async def _answer(holds: Callable[[], Any]) -> Any:
        while True:
            with contextlib.suppress(AssertionError, KeyError, IndexError):
                if answer := await asyncio.to_thread(holds):
                    return answer
            await asyncio.sleep(0.5)
