"""Fan-out: the same pods created while a thousand clients watch them, flexlet and kube-apiserver in one run.

The watchers are plain TLS sockets in processes of their own, which count lines and decode nothing: the server is
what is measured. Each side gets the same watchers and the same creates; the clock runs from the first create until
the last watcher has the last event. An event counts once for each watcher that has it.
"""

import os
import selectors
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bench import controlplane
from bench.apiserver import flexlet
from bench.load import PODS, Client, create, send
from flexlet.adapters.kube import kubeconfig as kube

Figure = tuple[str, float, str]
WATCHERS: Final = int(os.environ.get("BENCH_WATCHERS", "1000"))
CREATES: Final = int(os.environ.get("BENCH_CREATES", "200"))
PROCESSES: Final = 2
PATIENCE_S: Final = 300
ACCOUNTS: Final = "/api/v1/namespaces/default/serviceaccounts"


def run() -> list[Figure]:
    """Both sides and their ratio; a side that fails is told about and leaves the other's figures."""
    figures: list[Figure] = []
    rates: dict[str, float] = {}
    for side, measured in (("flexlet", _ours), ("kube-apiserver", _theirs)):
        try:
            rates[side], seconds = measured()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"  {side}: {error}", file=sys.stderr)
            continue
        figures.append((f"events delivered to {WATCHERS} watchers, {side}", rates[side], "/s"))
        figures.append((f"{CREATES} creates seen by {WATCHERS} watchers, {side}", seconds, "s"))
    if len(rates) == 2:
        figures.append(("events flexlet : kube-apiserver", rates["flexlet"] / rates["kube-apiserver"], "x"))
    return figures


def _ours() -> tuple[float, float]:
    with flexlet("server") as (kubeconfig, _, _):
        return measure("flexlet", kubeconfig)


def _theirs() -> tuple[float, float]:
    if lacking := controlplane.missing():
        raise RuntimeError(f"skipped, {lacking}")
    with controlplane.control_plane() as real:
        send(Client(real.kubeconfig).connect(), "POST", ACCOUNTS, '{"metadata":{"name":"default"}}', {})
        return measure("kube-apiserver", real.kubeconfig)


def measure(side: str, kubeconfig: Path) -> tuple[float, float]:
    """Events per second over all watchers, and the seconds until the last had the last."""
    print(f"  {side}: {CREATES} creates, {WATCHERS} watchers", file=sys.stderr)
    each = WATCHERS // PROCESSES
    command = [sys.executable, "-m", "bench.fanout", str(kubeconfig), str(each), str(CREATES)]
    crowds = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    try:
        for crowd in crowds:
            _said(crowd, "watching")
        begin = time.perf_counter()
        Client(kubeconfig).rate(CREATES, create)
        for crowd in crowds:
            _said(crowd, "seen")
        seconds = time.perf_counter() - begin
    finally:
        for crowd in crowds:
            crowd.kill()
            crowd.wait()
    return each * PROCESSES * CREATES / seconds, seconds


def _said(crowd: "subprocess.Popen[str]", word: str) -> None:
    assert crowd.stdout is not None
    heard = crowd.stdout.readline().strip()
    if heard != word:
        raise RuntimeError(f"the watchers said {heard!r} instead of {word!r}")


class Crowd:
    """Some watchers in one process, and how many events each has seen."""

    def __init__(self, kubeconfig: Path) -> None:
        self._credentials = kube.load(kubeconfig)
        self._tls = kube.ssl_context(self._credentials)
        self._ready = selectors.DefaultSelector()
        self._seen: dict[ssl.SSLSocket, int] = {}
        self._ends: dict[ssl.SSLSocket, bytes] = {}

    def join(self, version: str) -> None:
        """One more watcher, from a version on; returns when the server has answered."""
        place = urlsplit(self._credentials.server)
        watcher = self._connected(place.hostname or "", place.port or 443)
        asked = f"GET {PODS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n"
        watcher.sendall(asked.encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += watcher.recv(1)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"a watch was answered with {head[:80]!r}")
        watcher.setblocking(False)
        self._ready.register(watcher, selectors.EVENT_READ)
        self._seen[watcher], self._ends[watcher] = 0, b""

    def _connected(self, host: str, port: int) -> ssl.SSLSocket:
        plain = socket.create_connection((host, port), timeout=60)
        return self._tls.wrap_socket(plain, server_hostname=host)

    def wait(self, count: int) -> None:
        """Read until each watcher has seen so many events; chunks end in CR LF, events in LF alone."""
        waiting = len(self._seen)
        while waiting:
            for key, _ in self._ready.select():
                watcher = key.fileobj
                assert isinstance(watcher, ssl.SSLSocket)
                before = self._seen[watcher]
                self._read(watcher)
                waiting -= before < count <= self._seen[watcher]

    def _read(self, watcher: ssl.SSLSocket) -> None:
        while True:
            try:
                data = watcher.recv(1 << 18)
            except (ssl.SSLWantReadError, BlockingIOError):
                return
            if not data:
                raise RuntimeError("the server ended a watch")
            split = self._ends[watcher] == b"\r" and data[:1] == b"\n"
            self._seen[watcher] += data.count(b"\n") - data.count(b"\r\n") - split
            self._ends[watcher] = data[-1:]


def main(kubeconfig: str, watchers: str, events: str) -> None:
    """A crowd of watchers: says when all watch, and when all have seen everything."""
    listed = send(Client(Path(kubeconfig)).connect(), "GET", f"{PODS}?limit=1", None, {})
    version = listed.split(b'"resourceVersion":"', 1)[1].split(b'"', 1)[0].decode()
    crowd = Crowd(Path(kubeconfig))
    for _ in range(int(watchers)):
        crowd.join(version)
    print("watching", flush=True)
    crowd.wait(int(events))
    print("seen", flush=True)
    time.sleep(PATIENCE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
