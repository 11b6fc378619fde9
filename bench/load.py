"""Load on a Kubernetes API, the same for every server: threads with one keep-alive connection each."""

import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flexlet.adapters.kube import kubeconfig as kube

THREADS: Final = 4
PODS: Final = "/api/v1/namespaces/default/pods"

Request = tuple[str, str, str | None, dict[str, str]]


class Client:
    """One server, reached with the credentials of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._credentials = kube.load(kubeconfig)
        self._tls = kube.ssl_context(self._credentials)

    def connect(self) -> http.client.HTTPSConnection:
        """A connection of its own."""
        host = self._credentials.server.removeprefix("https://")
        return http.client.HTTPSConnection(host, context=self._tls, timeout=60)

    def rate(self, count: int, request: Callable[[int], Request]) -> float:
        """Requests per second over THREADS connections; an error ends the bench."""

        def work(first: int) -> None:
            connection = self.connect()
            for index in range(first, count, THREADS):
                send(connection, *request(index))

        threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count / (time.perf_counter() - begin)

    def list_seconds(self) -> float:
        """The median time of a list of all pods."""
        connection = self.connect()

        def once() -> float:
            begin = time.perf_counter()
            send(connection, "GET", PODS, None, {})
            return time.perf_counter() - begin

        return statistics.median(once() for _ in range(5))

    def watch_latencies(self, count: int) -> list[float]:
        """Seconds from sending a write to seeing its event on a watch."""
        watcher, writer = self.connect(), self.connect()
        watcher.request("GET", "/api/v1/namespaces/default/configmaps?watch=true")
        events = watcher.getresponse()
        begins: dict[str, float] = {}
        found: list[float] = []

        def follow() -> None:
            for line in events:
                name = json.loads(line)["object"]["metadata"]["name"]
                if name in begins:
                    found.append(time.perf_counter() - begins[name])
                if len(found) == count:
                    return

        thread = threading.Thread(target=follow)
        thread.start()
        for index in range(count):
            name = f"latency-{index}"
            body = json.dumps({"metadata": {"name": name}})
            begins[name] = time.perf_counter()
            send(writer, "POST", "/api/v1/namespaces/default/configmaps", body, {})
        thread.join(60)
        return found


def send(
    connection: http.client.HTTPSConnection, method: str, path: str, body: str | None, headers: dict[str, str]
) -> bytes:
    """One request; anything but success raises."""
    connection.request(method, path, body, headers or {"Content-Type": "application/json"})
    response = connection.getresponse()
    data = response.read()
    if response.status >= 300:
        raise RuntimeError(f"{method} {path}: {response.status} {data[:300]!r}")
    return data


def pod(index: int) -> dict[str, Any]:
    """An ordinary pod of two containers."""
    command = ["sleep", "1d"]
    amounts = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    first = {"name": "c", "image": "busybox:1", "command": command, "resources": amounts}
    second = {"name": "d", "image": "busybox:1", "env": [{"name": "A", "value": "b"}]}
    meta = {"name": f"load-{index:05}", "labels": {"app": "load"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [first, second]}}


def create(index: int) -> Request:
    """POST a pod."""
    return "POST", PODS, json.dumps(pod(index)), {"Content-Type": "application/json"}


def patch_status(index: int) -> Request:
    """What a node sends: a strategic patch of the status."""
    stamp = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": stamp} for kind in ("Ready", "Initialized")
    ]
    body = json.dumps({"status": {"phase": "Running", "conditions": conditions, "startTime": stamp}})
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    return "PATCH", f"{PODS}/load-{index:05}/status", body, headers
