"""Which node, which container, which path; and what is said when there is none."""

from typing import Any

import pytest

from flexlet.api.status import ApiError
from flexlet.apiserver.proxy import target
from flexlet.apiserver.proxy.hosts import Host
from flexlet.apiserver.proxy.target import Target

NODE = {
    "metadata": {"name": "n1"},
    "status": {
        "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}, {"type": "Hostname", "address": "n1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10251}},
    },
}
CHOOSE = "a container name must be specified for pod web, choose one of: [a b]"
HOSTILE = "::ffff:127.0.0.1]:6443/api/v1/secrets?x="
ONE_OF = "at most one of `sinceTime` or `sinceSeconds` may be specified"


def pod(*containers: str, node: str = "n1", init: tuple[str, ...] = ()) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": name} for name in containers], "nodeName": node}
    if init:
        spec["initContainers"] = [{"name": name} for name in init]
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}


def test_logs_are_read_at_the_nodes_preferred_address() -> None:
    query = {"tailLines": ["5"], "timestamps": ["true"], "container": ["a"]}
    path = "/containerLogs/default/web/a?tailLines=5&timestamps=true"
    assert target.logs(pod("a"), NODE, query) == Target(
        node="n1", host=Host("n1"), port=10251, path=path, name="n1"
    )


def test_a_node_that_the_server_started_is_where_the_server_says() -> None:
    """And is known by its name, since many nodes may be there."""
    found = target.logs(pod("a"), NODE, {}, "127.0.0.1")
    assert found is not None
    assert (found.host.text, found.name, found.is_trusted) == ("127.0.0.1", "n1", True)


def reporting(address: str, port: int = 0) -> dict[str, Any]:
    addresses = [{"type": "Hostname", "address": address}]
    endpoints = {"kubeletEndpoint": {"Port": port}}
    return {"metadata": {"name": "n1"}, "status": {"addresses": addresses, "daemonEndpoints": endpoints}}


def test_whatever_callers_and_pods_say_is_encoded() -> None:
    """Nothing of it can end the path, add a query or break the line."""
    odd = "a/../b?c=d#e\r\nX: y&f"
    found = target.logs(pod(odd), NODE, {"sinceTime": [odd]})
    assert found is not None
    quoted = "a%2F..%2Fb%3Fc%3Dd%23e%0D%0AX%3A%20y%26f"
    assert found.path == f"/containerLogs/default/web/{quoted}?sinceTime={quoted.replace('%20', '+')}"
    ports = target.streams(pod("a"), NODE, "portforward", {"ports": ["80&x=1 HTTP/1.1\r\n"]})
    assert ports.path == "/portForward/default/web?port=80%26x%3D1+HTTP%2F1.1%0D%0A"


@pytest.mark.parametrize(("port", "used"), [(0, 10250), (-1, 10250), (1, 1), (65535, 65535)])
def test_the_port_is_the_nodes_or_the_usual_one(port: int, used: int) -> None:
    found = target.logs(pod("a"), reporting("10.0.0.5", port), {})
    assert found is not None
    assert found.port == used


def test_a_pod_without_a_node_has_no_logs_yet() -> None:
    assert target.logs(pod("a", node=""), None, {}) is None


def test_exec_names_its_streams_as_the_node_does() -> None:
    query = {"command": ["ls", "/"], "stdin": ["true"], "stdout": ["1"], "tty": ["true"], "stderr": ["false"]}
    assert target.streams(pod("a"), NODE, "exec", query).path == (
        "/exec/default/web/a?input=1&output=1&tty=1&command=ls&command=%2F"
    )


def test_attach_and_portforward() -> None:
    assert target.streams(pod("a"), NODE, "attach", {"stdout": ["true"]}).path == "/attach/default/web/a?output=1"
    assert (
        target.streams(pod("a"), NODE, "portforward", {"ports": ["80"]}).path == "/portForward/default/web?port=80"
    )


def test_an_ipv6_address_is_bracketed() -> None:
    found = target.logs(pod("a"), reporting("FD00:0::1"), {})
    assert found is not None
    assert found.authority == "[fd00::1]:10250"


@pytest.mark.parametrize(
    ("ask", "code", "message"),
    [
        (
            lambda: target.logs(pod("a", "b"), NODE, {}),
            400,
            CHOOSE,
        ),
        (
            lambda: target.logs(pod("a", "b", init=("i",)), NODE, {}),
            400,
            f"{CHOOSE} or one of the init containers: [i]",
        ),
        (lambda: target.logs(pod("a"), NODE, {"container": ["z"]}), 400, "container z is not valid for pod web"),
        (
            lambda: target.logs(pod("a"), NODE, {"sinceSeconds": ["-1"]}),
            422,
            'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: -1: must be greater than 0',
        ),
        (
            lambda: target.logs(pod("a"), NODE, {"sinceSeconds": ["1"], "sinceTime": ["2020-01-01T00:00:00Z"]}),
            422,
            f'PodLogOptions "web" is invalid: []: Forbidden: {ONE_OF}',
        ),
        (
            lambda: target.logs(pod("a"), NODE, {"tailLines": ["x"]}),
            400,
            'strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            lambda: target.logs(pod("a"), {"metadata": {"name": "n1"}, "status": {}}, {}),
            500,
            "no preferred addresses found; known addresses: []",
        ),
        (
            lambda: target.logs(pod("a"), None, {}),
            500,
            "no preferred addresses found; known addresses: []",
        ),
        (
            lambda: target.logs(pod("a"), reporting(HOSTILE), {}),
            400,
            f"cannot connect to node n1: {HOSTILE!r} is neither an IP address nor an RFC 1123 host name",
        ),
        (
            lambda: target.logs(pod("a"), reporting("10.0.0.5", 65536), {}),
            400,
            "cannot connect to node n1: 65536 is not a port",
        ),
        (
            lambda: target.streams(pod("a", node=""), None, "exec", {}),
            400,
            "pod web does not have a host assigned",
        ),
        (
            lambda: target.logs(
                pod("a"), {"metadata": {"name": "h", "labels": {"flexlet.io/hollow": "true"}}}, {}
            ),
            501,
            "node h is simulated: its pods have no logs and can run no commands",
        ),
        (
            lambda: target.streams(pod("a"), NODE, "exec", {"command": ["ls"]}),
            400,
            "you must specify at least one of stdin, stdout, stderr",
        ),
        (
            lambda: target.streams(pod("a"), NODE, "exec", {"stdout": ["1"]}),
            400,
            "you must specify at least one command",
        ),
    ],
)
def test_refusals(ask: Any, code: int, message: str) -> None:
    with pytest.raises(ApiError) as raised:
        ask()
    assert (raised.value.code, str(raised.value)) == (code, message)
