"""The cluster a command talks to."""

from pathlib import Path

from flexlet.adapters.kube import kubeconfig as config
from flexlet.adapters.kube.client import HttpCluster


def credentials(kubeconfig: str | None) -> config.Credentials:
    """Those of the named kubeconfig, or of the one kubectl would use."""
    return config.load(Path(kubeconfig) if kubeconfig else None)


def connect(kubeconfig: str | None) -> HttpCluster:
    """A client for the named kubeconfig, or for the one kubectl would use; enter it with ``async with``."""
    return HttpCluster(credentials(kubeconfig))
