"""The embedded API server beside a real kube-apiserver 1.36.3 with etcd, in one run on one machine.

Both sides get the same load from the same client, one after the other; flexlet syncs every commit to disk, etcd
runs without syncing. Rates are of the API servers alone. Memory is of the idle whole: ``flexlet up --node hollow``
against etcd, kube-apiserver, scheduler and controller manager.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import controlplane
from bench.load import Client, create, patch_status, send

Figure = tuple[str, float, str]
WRITES = 2000
LISTED = 5000
SETTLE_S = 10


@contextlib.contextmanager
def flexlet(*command: str) -> Iterator[tuple[Path, int, float]]:
    """A flexlet process: its kubeconfig, its pid and how long it took to be ready."""
    with tempfile.TemporaryDirectory() as home:
        kubeconfig = Path(home) / "kubeconfig"
        arguments = [*command, "--data", f"{home}/data", "--write-kubeconfig", str(kubeconfig)]
        begin = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "flexlet", *arguments], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield kubeconfig, process.pid, time.monotonic() - begin
        finally:
            process.terminate()
            process.wait(30)


def measure(side: str, kubeconfig: Path) -> dict[str, float]:
    """Rates, latencies and list time of one server."""
    client = Client(kubeconfig)
    print(f"  {side}: {WRITES} creates, {WRITES} patches, watch, list of {LISTED}", file=sys.stderr)
    found = {
        "creates": client.rate(WRITES, create),
        "patches": client.rate(WRITES, patch_status),
    }
    latencies = sorted(client.watch_latencies(500))
    found["p50"], found["p99"] = latencies[len(latencies) // 2], latencies[int(len(latencies) * 0.99)]
    client.rate(LISTED - WRITES, lambda index: create(index + WRITES))
    found["list"] = client.list_seconds()
    return found


def run() -> list[Figure]:
    """Both sides and their ratios; our side alone where the real programs are missing."""
    ours = _ours()
    figures = _figures("flexlet", ours)
    lacking = controlplane.missing()
    if lacking:
        print(f"  skipped kube-apiserver: {lacking}", file=sys.stderr)
        return figures
    theirs = _theirs()
    figures += _figures("kube-apiserver", theirs)
    return figures + [
        (f"{label} flexlet : kube-apiserver", ours[key] / theirs[key], "x")
        for key, (label, _, _) in _NAMES.items()
    ]


def _ours() -> dict[str, float]:
    with flexlet("server") as (kubeconfig, _, ready_s):
        found = measure("flexlet server", kubeconfig) | {"ready": ready_s}
    with flexlet("up", "--node", "hollow") as (_, pid, _):
        time.sleep(SETTLE_S)
        return found | {"memory": controlplane.resident(pid)}


def _theirs() -> dict[str, float]:
    with controlplane.control_plane() as real:
        account = json.dumps({"metadata": {"name": "default"}})
        client = Client(real.kubeconfig)
        send(client.connect(), "POST", "/api/v1/namespaces/default/serviceaccounts", account, {})
        found = measure("kube-apiserver", real.kubeconfig) | {"ready": real.ready_s}
    with controlplane.control_plane() as real:
        real.start_controllers()
        time.sleep(SETTLE_S)
        return found | {"memory": sum(real.resident_bytes().values())}


_NAMES = {
    "creates": ("pod creates", 1, "/s"),
    "patches": ("status patches", 1, "/s"),
    "p50": ("watch latency p50", 1000, "ms"),
    "p99": ("watch latency p99", 1000, "ms"),
    "list": (f"list of {LISTED} pods", 1000, "ms"),
    "ready": ("time to ready", 1, "s"),
    "memory": ("memory of the idle whole", 1e-6, "MB"),
}


def _figures(side: str, found: dict[str, float]) -> list[Figure]:
    return [(f"{label}, {side}", found[key] * factor, unit) for key, (label, factor, unit) in _NAMES.items()]
