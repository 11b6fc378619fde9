"""Hollow nodes and ten pods for each of them in one process: scheduled, running, each resized once.

``BENCH_NODES`` (1000) says how many nodes; all figures are absolute, of this machine alone.

The pods are created and resized over HTTPS from outside, as users would; the clock runs from the first create to
the last pod Running, and from the first resize to the last one granted.
"""

import json
import os
import sys
import time
from collections.abc import Callable

from bench import controlplane
from bench.apiserver import flexlet
from bench.load import PODS, Client, Request, create, send

Figure = tuple[str, float, str]
NODES = int(os.environ.get("BENCH_NODES", "1000"))
COUNT = 10 * NODES
PATIENCE_S = 600 + NODES // 2


def run() -> list[Figure]:
    """Times and memory."""
    with flexlet("up", "--node", f"hollow={NODES}") as (kubeconfig, pid, ready_s):
        client = Client(kubeconfig)
        _wait("nodes ready", lambda: _count(client, "/api/v1/nodes", b'"reason":"KubeletReady"') >= NODES)
        begin = time.perf_counter()
        client.rate(COUNT, create)
        created_s = time.perf_counter() - begin
        _wait("pods running", lambda: _count(client, PODS, b'"phase":"Running"') >= COUNT)
        running_s = time.perf_counter() - begin
        running_bytes = controlplane.resident(pid)
        begin = time.perf_counter()
        client.rate(COUNT, _resize)
        _wait("pods resized", lambda: _count(client, PODS, b'"allocatedResources":{"cpu":"150m"') >= COUNT)
        resized_s = time.perf_counter() - begin
        return [
            (f"{NODES} nodes: time to ready", ready_s, "s"),
            (f"{COUNT} pods created", created_s, "s"),
            (f"{COUNT} pods from first create to last Running", running_s, "s"),
            (f"{COUNT} pods from first resize to last granted", resized_s, "s"),
            ("memory with all pods Running", running_bytes / 1e6, "MB"),
            ("memory after all resizes", controlplane.resident(pid) / 1e6, "MB"),
        ]


def _resize(index: int) -> Request:
    container = {"name": "c", "resources": {"requests": {"cpu": "150m"}}}
    body = json.dumps({"spec": {"containers": [container]}})
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    return "PATCH", f"{PODS}/load-{index:05}/resize", body, headers


def _count(client: Client, path: str, mark: bytes) -> int:
    return send(client.connect(), "GET", path, None, {}).count(mark)


def _wait(what: str, done: Callable[[], bool]) -> None:
    print(f"  waiting: {what}", file=sys.stderr)
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(1)
