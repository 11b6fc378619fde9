"""The cluster a command talks to."""

from pathlib import Path

from flexlet.adapters.kube import kubeconfig as config
from flexlet.adapters.kube.client import HttpCluster


def connect(kubeconfig: str | None) -> HttpCluster:
    """A client for the named kubeconfig, or for the one kubectl would use; enter it with ``async with``."""
    return HttpCluster(config.load(Path(kubeconfig) if kubeconfig else None))
