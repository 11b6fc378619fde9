"""Container ports, and the host ports that containers of a pod must not fight over."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import duplicate, invalid, not_supported, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.scope import Errors

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def validate_ports(ports: list[Object], path: str, errors: Errors) -> None:
    """The ports of one container."""
    taken: set[str] = set()
    for i, port in enumerate(ports):
        item = f"{path}[{i}]"
        if name := port.get("name"):
            _validate_name(name, taken, f"{item}.name", errors)
        number = port.get("containerPort") or 0
        if not number:
            errors.append(required(f"{item}.containerPort"))
        elif complaints := names.port_number(number):
            errors += [invalid(f"{item}.containerPort", number, text) for text in complaints]
        if host := port.get("hostPort"):
            errors += [invalid(f"{item}.hostPort", host, text) for text in names.port_number(host)]
        protocol = port.get("protocol")
        if not protocol:
            errors.append(required(f"{item}.protocol"))
        elif protocol not in PROTOCOLS:
            errors.append(not_supported(f"{item}.protocol", protocol, PROTOCOLS))


def _validate_name(name: str, taken: set[str], path: str, errors: Errors) -> None:
    if complaints := names.port_name(name):
        errors += [invalid(path, name, text) for text in complaints]
    elif name in taken:
        errors.append(duplicate(path, name))
    else:
        taken.add(name)


def validate_host_ports_apart(containers: list[Object], path: str, errors: Errors) -> None:
    """No two of these containers may bind the same port of the host."""
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if host := port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP') or ''}/{host}"
                if key in taken:
                    errors.append(duplicate(f"{path}[{i}].ports[{j}].hostPort", key))
                taken.add(key)


def validate_host_network_ports(containers: list[Object], path: str, errors: Errors, *, is_pod: bool) -> None:
    """On the host network both numbers are the same; a template may leave the host's one out."""
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid(f"{path}[{i}].ports[{j}].hostPort", host, text))
