"""Warnings about ports: the same one twice, or so that nobody can tell which is meant."""

from flexlet.api import gotext
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import containers_with_paths

_Port = tuple[str, int, str]
"""Path, host port and host IP."""


def port_warnings(spec: Object, path: str) -> list[str]:
    """Warnings about the ports of all containers together."""
    ports = [
        (port, f"{item}.ports[{i}]")
        for container, item in containers_with_paths(spec, path)
        for i, port in enumerate(container.get("ports") or ())
    ]
    return [*_number_warnings(ports), *_name_warnings(ports)] if ports else []


def _number_warnings(ports: list[tuple[Object, str]]) -> list[str]:
    warnings: list[str] = []
    seen: dict[str, list[_Port]] = {}
    for port, path in ports:
        host_port, host_ip = port.get("hostPort") or 0, port.get("hostIP") or ""
        if host_ip and not host_port:
            warnings.append(f"{path}: hostIP set without hostPort: {_shown(port)}")
        others = seen.setdefault(f"{port.get('containerPort') or 0}/{port.get('protocol') or ''}", [])
        for other, other_port, other_ip in others:
            if relation := _relation(host_port, host_ip, other_port, other_ip):
                warnings.append(f"{path}: {relation} port definition with {other}")
        others.append((path, host_port, host_ip))
    return warnings


def _relation(port: int, ip: str, other_port: int, other_ip: str) -> str:
    if (port, ip) == (other_port, other_ip):
        return "duplicate"
    if not port or not other_port:
        return "overlapping"
    return "dangerously ambiguous" if port == other_port and (not ip) != (not other_ip) else ""


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


def _name_warnings(ports: list[tuple[Object, str]]) -> list[str]:
    warnings: list[str] = []
    seen: dict[str, str] = {}
    for port, path in ports:
        name = port.get("name")
        if not name:
            continue
        other = seen.setdefault(name, path)
        if other != path:
            text = f"services and probes that select ports by name will use {other}"
            warnings.append(f"{path}: duplicate port name {gotext.quote(name)} with {other}, {text}")
    return warnings
