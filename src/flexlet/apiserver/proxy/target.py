"""Where a pod's streams are: which container, which node, which URL. Pure; refusals are API errors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from flexlet.api import fielderrors, status
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.proxy import hosts
from flexlet.apiserver.proxy.hosts import Host, Unusable
from flexlet.core.hollow.machine import HOLLOW_LABEL

ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
STREAMS: Final = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
KUBELET_PORT: Final = 10250
_MAX_PORT: Final = 65535
_TRUE: Final = {"true", "1", "True", "TRUE", "t", "T"}

Query = Mapping[str, Sequence[str]]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A node's endpoint and the path on it."""

    node: str
    host: Host
    port: int
    path: str
    """With its query, all of it encoded."""
    name: str
    """For what the node's certificate must be good."""
    is_trusted: bool = False
    """Whether whoever runs the server named the host: then it may be on this machine."""

    @property
    def authority(self) -> str:
        """Host and port, as a URL and the Host header have them."""
        return authority(self.host.text, self.port)


def authority(host: str, port: int) -> str:
    """Host and port; an IPv6 address has brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def container_name(pod: Object, wanted: str) -> str:
    """The container meant; without a name there must be just one."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    regular = [container["name"] for container in spec.get("containers") or ()]
    if wanted:
        others = (
            c["name"] for c in (*(spec.get("initContainers") or ()), *(spec.get("ephemeralContainers") or ()))
        )
        if wanted not in {*regular, *others}:
            raise status.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(regular) == 1:
        return str(regular[0])
    if not regular:
        raise status.bad_request(f"a container name must be specified for pod {name}")
    choice = f"choose one of: [{' '.join(regular)}]"
    if spec.get("initContainers"):
        choice += f" or one of the init containers: [{' '.join(c['name'] for c in spec['initContainers'])}]"
    raise status.bad_request(f"a container name must be specified for pod {name}, {choice}")


def logs(pod: Object, node: Object | None, query: Query, reach: str = "") -> Target | None:
    """Where to read logs; None while the pod has no node (the answer is then empty)."""
    check_log_options(pod["metadata"]["name"], query)
    container = container_name(pod, _first(query, "container"))
    if not pod["spec"].get("nodeName"):
        return None
    passed = {key: values[0] for key, values in query.items() if key != "container" and values and values[0]}
    return _at(node, reach, _path("containerLogs", pod, container), sorted(passed.items()))


def streams(pod: Object, node: Object | None, subresource: str, query: Query, reach: str = "") -> Target:
    """Where exec, attach and portforward go."""
    meta = pod["metadata"]
    if not pod["spec"].get("nodeName"):
        raise status.bad_request(f"pod {meta['name']} does not have a host assigned")
    if subresource == "portforward":
        ports = [("port", port) for port in query.get("ports", ())]
        return _at(node, reach, _path("portForward", pod), ports)
    container = container_name(pod, _first(query, "container"))
    passed = [(theirs, "1") for ours, theirs in STREAMS if _first(query, ours) in _TRUE]
    if not passed:
        raise status.bad_request("you must specify at least one of stdin, stdout, stderr")
    if subresource == "exec":
        if not query.get("command"):
            raise status.bad_request("you must specify at least one command")
        passed += [("command", word) for word in query["command"]]
    return _at(node, reach, _path(subresource, pod, container), passed)


def check_log_options(name: str, query: Query) -> None:
    """Refuse options that contradict themselves, as the API does before it asks the node."""
    numbers = {key: _number(query, key) for key in ("sinceSeconds", "tailLines", "limitBytes")}
    errors = []
    if (tail := numbers["tailLines"]) is not None and tail < 0:
        errors.append(fielderrors.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if (limit := numbers["limitBytes"]) is not None and limit < 1:
        errors.append(fielderrors.invalid("limitBytes", limit, "must be greater than 0"))
    since = numbers["sinceSeconds"]
    if since is not None and _first(query, "sinceTime"):
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(fielderrors.forbidden("[]", text))
    elif since is not None and since < 1:
        errors.append(fielderrors.invalid("sinceSeconds", since, "must be greater than 0"))
    if errors:
        raise status.invalid("PodLogOptions", "", name, errors)


def _number(query: Query, key: str) -> int | None:
    text = _first(query, key)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _first(query: Query, key: str) -> str:
    values = query.get(key) or ("",)
    return values[0]


def _path(verb: str, pod: Object, container: str = "") -> str:
    meta = pod["metadata"]
    parts = (verb, meta["namespace"], meta["name"], *((container,) if container else ()))
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _at(node: Object | None, reach: str, path: str, query: Iterable[tuple[str, str]]) -> Target:
    """The endpoint of a node; `reach` is where this server finds it, if that is not what the node says itself."""
    if node is None:
        raise status.failure(500, "", "no preferred addresses found; known addresses: []")
    meta: Mapping[str, Any] = node["metadata"]
    if (meta.get("labels") or {}).get(HOLLOW_LABEL) == "true":
        text = f"node {meta['name']} is simulated: its pods have no logs and can run no commands"
        raise status.failure(501, "NotImplemented", text)
    report: Mapping[str, Any] = node.get("status") or {}
    host = _host(meta["name"], reach or _reported(report))
    text = urlencode(list(query))
    return Target(
        node=meta["name"],
        host=host,
        port=_port(meta["name"], report),
        path=f"{path}?{text}" if text else path,
        name=meta["name"] if reach else host.text,
        is_trusted=bool(reach),
    )


def _reported(report: Mapping[str, Any]) -> str:
    """The address that a node is known by, of the kind that is preferred."""
    found = [(entry.get("type", ""), entry.get("address", "")) for entry in report.get("addresses") or ()]
    addresses = dict(reversed(found))
    host = next((addresses[kind] for kind in ADDRESS_TYPES if kind in addresses), None)
    if host is None:
        known = " ".join(f"{{{kind} {address}}}" for kind, address in found)
        raise status.failure(500, "", f"no preferred addresses found; known addresses: [{known}]")
    return str(host)


def _host(node: str, text: str) -> Host:
    try:
        return hosts.parse(text)
    except Unusable as error:
        raise refused(node, error) from error


def _port(node: str, report: Mapping[str, Any]) -> int:
    endpoint = (report.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    port = int(endpoint.get("Port") or 0)
    if port > _MAX_PORT:
        raise refused(node, Unusable(f"{port} is not a port"))
    return port if port > 0 else KUBELET_PORT


def refused(node: str, why: Unusable) -> status.ApiError:
    """What the caller is told of a node that is not connected to."""
    return status.bad_request(f"cannot connect to node {node}: {why}")
