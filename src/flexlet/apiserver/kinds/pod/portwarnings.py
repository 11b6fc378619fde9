"""Warnings about ports: the same one twice, or so that nobody can tell which is meant.

A template may have thousands of ports, so each is compared only with those it has to do with, and no more warnings
are made than an answer has room for.
"""

import heapq
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from flexlet.api import gotext
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import containers_with_paths

MAX_WARNINGS: Final = 1000
"""Of ports of one pod; all warnings of an answer together are cut at 4,096 characters."""

_Port = tuple[int, str, int, str]
"""Position, path, host port and host IP."""


class _Seen:
    """The ports of one number and protocol so far, found by what makes another port have to do with them."""

    def __init__(self) -> None:
        self._all: list[_Port] = []
        self._by_port: dict[int, list[_Port]] = {}
        self._by_address: dict[tuple[int, str], list[_Port]] = {}

    def add(self, port: _Port) -> None:
        """One more."""
        self._all.append(port)
        self._by_port.setdefault(port[2], []).append(port)
        self._by_address.setdefault(port[2:], []).append(port)

    def related(self, host_port: int, host_ip: str) -> Iterable[_Port]:
        """Those that are not simply another host port or another address of it, in their order."""
        if not host_port:
            return self._all
        lists = [self._by_port.get(0, [])]
        if host_ip:
            lists += [self._by_address.get((host_port, ip), []) for ip in ("", host_ip)]
        else:
            lists.append(self._by_port.get(host_port, []))
        return heapq.merge(*lists)


def port_warnings(spec: Object, path: str) -> list[str]:
    """Warnings about the ports of all containers together."""
    ports = [
        (port, f"{item}.ports[{i}]")
        for container, item in containers_with_paths(spec, path)
        for i, port in enumerate(container.get("ports") or ())
    ]
    if not ports:
        return []
    return list(islice(chain(_number_warnings(ports), _name_warnings(ports)), MAX_WARNINGS))


def _number_warnings(ports: list[tuple[Object, str]]) -> Iterable[str]:
    seen: dict[str, _Seen] = {}
    for at, (port, path) in enumerate(ports):
        host_port, host_ip = port.get("hostPort") or 0, port.get("hostIP") or ""
        if host_ip and not host_port:
            yield f"{path}: hostIP set without hostPort: {_shown(port)}"
        others = seen.setdefault(f"{port.get('containerPort') or 0}/{port.get('protocol') or ''}", _Seen())
        for _, other, other_port, other_ip in others.related(host_port, host_ip):
            yield f"{path}: {_relation(host_port, host_ip, other_port, other_ip)} port definition with {other}"
        others.add((at, path, host_port, host_ip))


def _relation(port: int, ip: str, other_port: int, other_ip: str) -> str:
    if (port, ip) == (other_port, other_ip):
        return "duplicate"
    return "dangerously ambiguous" if port and other_port else "overlapping"


def _shown(port: Object) -> str:
    """The port as Go prints a struct."""
    parts = (
        ("Name", port.get("name") or ""),
        ("HostPort", port.get("hostPort") or 0),
        ("ContainerPort", port.get("containerPort") or 0),
        ("Protocol", port.get("protocol") or ""),
        ("HostIP", port.get("hostIP") or ""),
    )
    return "{" + " ".join(f"{key}:{value}" for key, value in parts) + "}"


def _name_warnings(ports: list[tuple[Object, str]]) -> Iterable[str]:
    seen: dict[str, str] = {}
    for port, path in ports:
        name = port.get("name")
        if not name:
            continue
        other = seen.setdefault(name, path)
        if other != path:
            text = f"services and probes that select ports by name will use {other}"
            yield f"{path}: duplicate port name {gotext.quote(name)} with {other}, {text}"
