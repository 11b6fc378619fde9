"""An API server for commands to talk to, in a process of its own, and what is put into it."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from tests import servers

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.cli.main import run
from flexlet.ports.cluster import EVENTS, NODES, PODS, Ref

Json = dict[str, Any]
T = TypeVar("T")

PRIORITIES = Ref("scheduling.k8s.io", "v1", "priorityclasses")
_AGE = re.compile(r"\b\d+(m\d*)?s\b")


class Api:
    """The server as its administrator sees it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    def do(self, ask: Callable[[HttpCluster], Awaitable[T]]) -> T:
        """Connect, ask, hang up."""

        async def asked() -> T:
            async with HttpCluster(kubeconfig.load(self.kubeconfig)) as cluster:
                return await ask(cluster)

        return asyncio.run(asked())

    def create(self, ref: Ref, body: Json, namespace: str = "") -> Json:
        """Store an object."""
        made: Json = msgspec.json.decode(self.do(lambda cluster: cluster.create(ref, namespace, body)))
        return made

    def get(self, ref: Ref, name: str, namespace: str = "") -> Json:
        """Read an object."""
        found: Json = msgspec.json.decode(self.do(lambda cluster: cluster.get(ref, namespace, name)))
        return found

    def patch(self, ref: Ref, name: str, body: Json, namespace: str = "", *, subresource: str = "") -> None:
        """Merge into an object."""
        self.do(lambda cluster: cluster.patch(ref, namespace, name, body, subresource=subresource))

    def delete(self, ref: Ref, name: str, namespace: str = "") -> None:
        """Remove an object at once."""
        self.do(lambda cluster: cluster.delete(ref, namespace, name, {"gracePeriodSeconds": 0}))

    def node(self, name: str, size: Json, *, status: Json | None = None, **meta: Any) -> Json:
        """A node that has this much of everything."""
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        shown = {"capacity": size, "allocatable": size, "conditions": conditions} | (status or {})
        made = self.create(NODES, {"metadata": {"name": name, **meta}, "spec": {}})
        self.patch(NODES, name, {"status": shown}, subresource="status")
        return made

    def pod(self, name: str, node: str, resources: Json, namespace: str = "default", **more: Any) -> None:
        """A pod that runs, with what it asks for granted and in force."""
        meta = {"name": name} | more.pop("metadata", {})
        containers = [{"name": "c", "image": "i", "resources": resources}]
        spec = {"nodeName": node, "automountServiceAccountToken": False, "containers": containers} | more
        self.create(PODS, {"metadata": meta, "spec": spec}, namespace)
        self.report(name, resources, namespace=namespace)

    def report(self, name: str, resources: Json, *conditions: Json, namespace: str = "default") -> None:
        """Say as its node that the pod runs with these resources."""
        running = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
        held = running | {"resources": resources, "allocatedResources": resources.get("requests", {})}
        body = {"status": {"phase": "Running", "containerStatuses": [held], "conditions": list(conditions)}}
        self.patch(PODS, name, body, namespace, subresource="status")

    def event(
        self, about: Json, reason: str, message: str, at: str, kind: str = "Normal", *, host: str = ""
    ) -> None:
        """Tell something about an object, as this host."""
        namespace = about.get("namespace", "default")
        name = f"{about['name']}.{abs(hash((reason, message, at))):x}"
        body = {"metadata": {"name": name}, "involvedObject": about, "reason": reason, "message": message}
        told = body | {
            "type": kind,
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"host": host},
        }
        self.create(EVENTS, told, namespace)


class Command:
    """``flexlet`` in this process, against a server."""

    def __init__(self, api: Api, capture: pytest.CaptureFixture[str]) -> None:
        self._api = api
        self._capture = capture

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit code, output and talk; ages are 0s."""
        code = run([*words, "--kubeconfig", str(self._api.kubeconfig)])
        printed = self._capture.readouterr()
        return code, aged(printed.out), aged(printed.err)


def until(holds: Callable[[], Any]) -> None:
    """Wait for it; the test's own timeout ends a wait in vain."""
    pause = threading.Event()
    while not holds():
        pause.wait(0.02)


def aged(text: str) -> str:
    """The text with every age zero."""
    return _AGE.sub("0s", text)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server of the module's own."""
    with servers.flexlet(tmp_path_factory.mktemp("server"), "server") as running:
        yield Api(running.kubeconfig)


@pytest.fixture
def flexlet(api: Api, capfd: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return Command(api, capfd)
