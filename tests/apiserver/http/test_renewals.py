"""Leases are renewed while others list thousands of objects and send large bodies.

The server is a process of its own; those who load it and the one that renews are threads of this one. How long a
renewal takes is counted in what the server computed meanwhile: a busy machine does not change that.
"""

import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from tests import servers
from tests.fuzz import hostile
from tests.fuzz.corpus import JSON, Request
from tests.fuzz.pulse import process_clock
from tests.fuzz.wire import Answer, Wire

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.kubeconfig import Credentials

OBJECTS = 3000
LOADED_S = 10.0
COMPUTED_S = 1.0
NAMESPACE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Renewal(NamedTuple):
    """One update of a lease: how long it took, and what the server computed meanwhile."""

    waited_s: float
    computed_s: float

    @property
    def stalled_s(self) -> float:
        """How long the server itself took."""
        return min(self)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[servers.Running]:
    with servers.flexlet(tmp_path, "server") as found:
        yield found


def answered(wire: Wire, method: str, path: str, body: Any) -> Any:
    answer = wire.send(Request(method, path, (), (("Content-Type", JSON),), json.dumps(body).encode()))
    assert isinstance(answer, Answer), answer
    assert answer.status < 300, answer
    return json.loads(answer.body)


def account(admin: Wire, name: str) -> tuple[str, str]:
    """A service account that may do anything in its namespace; gives the header with its token."""
    named = {"metadata": {"name": name}}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    answered(admin, "POST", f"{NAMESPACE}/serviceaccounts", named)
    binding = {**named, "subjects": [subject], "roleRef": role}
    answered(admin, "POST", f"{RBAC}/namespaces/default/rolebindings", binding)
    made = answered(admin, "POST", f"{NAMESPACE}/serviceaccounts/{name}/token", {"spec": {}})
    return ("Authorization", f"Bearer {made['status']['token']}")


def lists(rng: random.Random) -> Request:
    form = rng.choice((JSON, JSON, TABLE, "application/yaml"))
    return Request("GET", f"{NAMESPACE}/configmaps", (), (("Accept", form),))


def bodies(rng: random.Random) -> Request:
    """Pods and Deployments of thousands of containers, each anew; whether they are taken does not matter."""
    made = hostile.pod(rng, 5_000)
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": made["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    name = {"name": f"d{rng.randrange(1000)}"}
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": name, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    return Request("POST", path, (("dryRun", "All"),), (("Content-Type", JSON),), json.dumps(value).encode())


class Load:
    """Clients that send heavy requests one after the other, each as a user of its own, until told to end."""

    def __init__(self, credentials: Credentials, tokens: list[tuple[str, str]]) -> None:
        self.answers: list[Answer | str] = []
        self._credentials = credentials
        self._over = threading.Event()
        kinds = (lists, lists, bodies)
        self._threads = [
            threading.Thread(target=self._send, args=(token, kinds[at % len(kinds)], random.Random(at)))  # noqa: S311
            for at, token in enumerate(tokens)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(90)

    def _send(self, token: tuple[str, str], kind: Any, rng: random.Random) -> None:
        with Wire(self._credentials) as wire:
            while not self._over.is_set():
                request = kind(rng)
                answer = wire.send(request._replace(headers=(*request.headers, token)))
                self.answers.append(answer if isinstance(answer, str) else answer._replace(body=b""))


def renew(wire: Wire, token: tuple[str, str], lease: Any, clock: int) -> Renewal:
    lease["spec"]["renewTime"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    data = json.dumps(lease).encode()
    request = Request("PUT", f"{LEASES}/node", (), (("Content-Type", JSON), token), data)
    began, computed = time.monotonic(), time.clock_gettime(clock)
    answer = wire.send(request)
    renewal = Renewal(time.monotonic() - began, time.clock_gettime(clock) - computed)
    assert isinstance(answer, Answer), answer
    assert answer.status == 200, answer
    lease["metadata"] = json.loads(answer.body)["metadata"]
    return renewal


def test_leases_are_renewed_while_others_list_and_send_large_bodies(running: servers.Running) -> None:
    credentials = kubeconfig.load(running.kubeconfig)
    anybody = Credentials(server=credentials.server, ca=credentials.ca)
    with Wire(credentials) as admin:
        tokens = [account(admin, f"robot{at}") for at in range(9)]
        for at in range(OBJECTS):
            data = {"k": "x" * 3_000}
            answered(admin, "POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": f"m{at}"}, "data": data})
        lease = answered(admin, "POST", LEASES, {"metadata": {"name": "node"}, "spec": {"holderIdentity": "node"}})
    renewals = []
    with Wire(anybody) as wire, Load(anybody, tokens[1:]) as load:
        until = time.monotonic() + LOADED_S
        while time.monotonic() < until:
            renewals.append(renew(wire, tokens[0], lease, process_clock(running.pid)))
            time.sleep(0.05)
    codes = {answer if isinstance(answer, str) else answer.status for answer in load.answers}
    assert codes <= {200, 201, 429}
    worst = max(renewals, key=lambda renewal: renewal.stalled_s)
    assert worst.stalled_s < COMPUTED_S, worst
