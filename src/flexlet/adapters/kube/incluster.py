"""Who we are to the API server when we run as a pod: the service account that is mounted into every container."""

import os
from pathlib import Path
from typing import Final

from flexlet.adapters.kube.kubeconfig import Credentials, default_path, load
from flexlet.errors import ConfigError

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_inside(account: Path = ACCOUNT) -> bool:
    """Whether there is such an account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (account / "token").exists()


def credentials(account: Path = ACCOUNT) -> Credentials:
    """The account's credentials, or ConfigError naming what is missing."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    name = f"[{host}]" if ":" in host else host
    try:
        token, ca = (account / "token").read_text().strip(), (account / "ca.crt").read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the service account in {account}: {error.strerror}") from error
    return Credentials(server=f"https://{name}:{port}", ca=ca, token=token)


def found(path: Path | None) -> Credentials:
    """The named kubeconfig, else the pod's own account, else the kubeconfig that kubectl would use."""
    if path is None and not default_path().exists() and is_inside():
        return credentials()
    return load(path)
