"""The same requests to flexlet's API server and to a real kube-apiserver 1.36.3, one after the other.

What both answer is compared whole, but for what no two servers can share: uids, times, versions, and who manages
which field (flexlet keeps no managedFields).
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench import controlplane
from tests import servers

from flexlet.adapters.kube import kubeconfig

LACKING = controlplane.missing()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(bool(LACKING), reason=LACKING), pytest.mark.timeout(300)]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_OWN = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp"}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    usual = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": usual | spec}


def sized(name: str, requests: dict[str, str], limits: dict[str, str] | None = None) -> dict[str, Any]:
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return pod(name, containers=[{"name": "c", "image": "i", "resources": resources}])


def resize(**resources: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": resources}]}}


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
CAPACITY = {"cpu": "4", "memory": "4Gi", "pods": "10"}
LEVEL = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}
REQUESTS: list[tuple[str, str, Any, str]] = [
    ("POST", NODES, NODE, ""),
    ("PATCH", f"{NODES}/n/status", {"status": {"capacity": CAPACITY, "allocatable": CAPACITY}}, MERGE),
    ("POST", PODS, sized("a", {"cpu": "100m", "memory": "64Mi"}, {"cpu": "200m", "memory": "64Mi"}), ""),
    ("POST", PODS, sized("a", {"cpu": "1"}), ""),
    ("GET", f"{PODS}/a", None, ""),
    ("GET", f"{PODS}/none", None, ""),
    ("POST", PODS, pod("bad_name"), ""),
    ("POST", PODS, pod("empty", containers=[]), ""),
    ("POST", PODS, sized("more", {"cpu": "2"}, {"cpu": "1"}), ""),
    ("POST", PODS, pod("level", resources=LEVEL), ""),
    ("POST", PODS, pod("odd", restartPolicy="Sometimes"), ""),
    ("POST", PODS, "no object", ""),
    ("PATCH", f"{PODS}/a/resize", resize(requests={"cpu": "150m"}), STRATEGIC),
    ("PATCH", f"{PODS}/a/resize", resize(requests={"cpu": "300m"}), STRATEGIC),
    ("PATCH", f"{PODS}/a/resize", resize(requests={"cpu": "200m"}, limits={"cpu": "200m"}), STRATEGIC),
    ("PATCH", f"{PODS}/a/resize", resize(requests={"ephemeral-storage": "1Gi"}), STRATEGIC),
    ("PATCH", f"{PODS}/level/resize", {"spec": {"resources": {"limits": {"cpu": "3"}}}}, STRATEGIC),
    ("PATCH", f"{PODS}/level/resize", {"spec": {"resources": {"requests": {"cpu": "5"}}}}, STRATEGIC),
    ("PATCH", f"{PODS}/a", {"spec": {"containers": [{"name": "c", "resources": {}}]}}, MERGE),
    ("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE),
    ("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x y": "z"}}}, MERGE),
    ("PATCH", f"{PODS}/a/status", {"status": {"phase": "Running"}}, MERGE),
    ("GET", f"{PODS}?labelSelector=x%3Dy", None, ""),
    ("GET", f"{PODS}?fieldSelector=nonsense%3D1", None, ""),
    ("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0}, ""),
    ("DELETE", f"{PODS}/a", None, ""),
    ("GET", "/api/v1/namespaces/default/nothings", None, ""),
]


class Server(NamedTuple):
    """Where a server is and who we are to it."""

    url: str
    context: ssl.SSLContext

    def answer(self, method: str, path: str, body: Any, kind: str) -> tuple[int, Any]:
        """Code and body; what is the server's own is left out."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)  # noqa: S310 our own servers
        request.add_header("Content-Type", kind or "application/json")
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:  # noqa: S310
                return answer.status, shared(json.load(answer))
        except urllib.error.HTTPError as error:
            return error.code, shared(json.load(error))


def shared(value: Any) -> Any:
    """The value without what differs between any two servers."""
    if isinstance(value, dict):
        return {key: shared(each) for key, each in value.items() if key not in _OWN and "Time" not in key}
    return [shared(each) for each in value] if isinstance(value, list) else value


def _server(path: Path) -> Server:
    credentials = kubeconfig.load(path)
    return Server(credentials.server, kubeconfig.ssl_context(credentials))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    with (
        controlplane.control_plane() as real,
        servers.flexlet(tmp_path_factory.mktemp("ours"), "server") as ours,
    ):
        theirs = _server(real.kubeconfig)
        # What its controller manager would make; flexlet's server makes it itself.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        theirs.answer("POST", "/api/v1/namespaces/default/serviceaccounts", account, "")
        yield _server(ours.kubeconfig), theirs


def test_both_say_the_same(both: tuple[Server, Server]) -> None:
    """In this order, since later requests are about what earlier ones made."""
    ours, real = both
    for number, request in enumerate(REQUESTS):
        assert (number, ours.answer(*request)) == (number, real.answer(*request))
