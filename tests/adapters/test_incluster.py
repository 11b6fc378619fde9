"""A pod finds the API server by its service account."""

from pathlib import Path

import pytest

from flexlet.adapters.kube import incluster
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.errors import ConfigError


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "ca.crt").write_bytes(b"ca")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    return tmp_path


def test_the_mounted_account_is_used(account: Path) -> None:
    assert incluster.is_inside(account)
    assert incluster.credentials(account) == Credentials(server="https://[fd00::1]:6443", ca=b"ca", token="secret")


def test_a_broken_mount_is_named(account: Path) -> None:
    (account / "ca.crt").unlink()
    with pytest.raises(ConfigError, match="cannot read the service account in"):
        incluster.credentials(account)


def test_outside_a_pod_a_kubeconfig_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    assert not incluster.is_inside(tmp_path)
    with pytest.raises(ConfigError, match="cannot read kubeconfig"):
        incluster.found(None)
