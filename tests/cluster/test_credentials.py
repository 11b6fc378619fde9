"""How kubectl puts it when the credentials are not good."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster.kubectl import Kubectl
from tests.servers import Running

from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.kubeconfig import kubeconfig
from flexlet.apiserver.auth.pki import Pki, open_pki

pytestmark = pytest.mark.cluster

LOG_IN = "error: You must be logged in to the server"
NO_ENTRY = f"{LOG_IN} (the server has asked for the client to provide credentials)"  # of discovery
UNAUTHORIZED = f"{LOG_IN} (Unauthorized)"
DAY_S = 86400.0

As = Callable[[Credential | str], Kubectl]


def now() -> float:
    return time.time()  # the server under test has no other clock


@pytest.fixture
def pki(server: Running) -> Pki:
    return open_pki(server.data / "pki", ["127.0.0.1"], now())


@pytest.fixture
def caller(server: Running, pki: Pki, connect: Callable[[Path, str], Kubectl], tmp_path: Path) -> As:
    """A kubectl with a certificate or a token of somebody."""

    def make(credential: Credential | str) -> Kubectl:
        path = tmp_path / "somebody"
        path.write_text(kubeconfig(server.url, pki.ca_pem, "somebody", credential))
        return connect(path, "default")

    return make


def test_certificates(pki: Pki, caller: As) -> None:
    """Foreign and expired ones are not known; a good one of somebody without rights is."""
    other = certificates.new_authority("other", now())
    foreign = certificates.issue_client(other, "admin", ("system:masters",), now(), 1)
    assert caller(foreign).refused("get pods").splitlines()[-1] == NO_ENTRY
    expired = pki.client("admin", ("system:masters",), now() - 3 * DAY_S, days=1)
    assert caller(expired).refused("get pods").splitlines()[-1] == NO_ENTRY
    alice = caller(pki.client("alice", ("devs",), now()))
    assert alice.refused("get pods") == (
        'Error from server (Forbidden): pods is forbidden: User "alice" cannot list resource "pods" in API group'
        ' "" in the namespace "default"'
    )
    assert alice.lines("auth whoami -o jsonpath={.status.userInfo.username}") == ["alice"]


def test_tokens(server: Running, caller: As, connect: Callable[[Path, str], Kubectl]) -> None:
    """A token is good in its account's name, for what the account may, and only as long as that is there."""
    admin = connect(server.kubeconfig, "default")
    admin("create serviceaccount worker")
    admin("create rolebinding worker --clusterrole=view --serviceaccount=default:worker")
    token = admin("create token worker").strip()
    worker = caller(token)
    assert worker.run("kubectl get pods").err == "No resources found in default namespace.\n"
    assert worker.refused("get pods -n kube-system") == (
        'Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:default:worker" cannot list'
        ' resource "pods" in API group "" in the namespace "kube-system"'
    )
    admin("delete serviceaccount worker")
    assert worker.refused("get pods").splitlines()[-1] == UNAUTHORIZED
    assert caller("nonsense").refused("get pods").splitlines()[-1] == NO_ENTRY
