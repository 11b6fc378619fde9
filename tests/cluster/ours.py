"""What flexlet has in a real Kubernetes: its manifests, the account of its controllers, parts that run here."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from bench.controlplane import ControlPlane
from tests.cluster.vmnode import Kubectl

from flexlet.apiserver.auth.kubeconfig import kubeconfig
from flexlet.apps.controllers import Part


def install(kubectl: Kubectl) -> None:
    """As a user does it."""
    command = [sys.executable, "-m", "flexlet", "print-manifests"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kubectl("apply", "-f", "-", text=printed)


def account(real: ControlPlane, place: Path) -> Path:
    """A kubeconfig with nothing but the account of the controllers."""
    kubectl = Kubectl(real.kubeconfig)
    token = kubectl("create", "token", "flexlet-controllers", "-n", "flexlet-system").strip()
    place.write_text(kubeconfig(real.url, real.ca.decode(), "flexlet-controllers", token))
    return place


@contextlib.asynccontextmanager
async def running(parts: list[Part]) -> AsyncIterator[None]:
    """Controllers and nodes in this process, as long as the block lasts."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in parts]
        yield
        for task in tasks:
            task.cancel()
