"""Objects of thousands of items: the same words as for a few, at a cost that grows with the items alone."""

import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.portwarnings import MAX_WARNINGS, port_warnings
from flexlet.apiserver.kinds.pod.resources import MAX_LISTED, validate_container_requirements
from flexlet.apiserver.kinds.pod.volumewarnings import MAX_COLLISIONS, volume_warnings

Object = dict[str, Any]
Port = tuple[int, int, str]

COMPUTED_S = 1.0
"""Of processor time; in squares of the items these took from 5 s to minutes."""


def of_ports(ports: list[Port]) -> Object:
    rows = [{"containerPort": number, "hostPort": host, "hostIP": ip} for number, host, ip in ports]
    return {"containers": [{"name": "c", "ports": rows}]}


def relation(one: Port, other: Port) -> str:
    """What two ports have to do with each other, as ``pkg/api/pod/warnings.go`` says it."""
    (number, port, ip), (other_number, other_port, other_ip) = one, other
    if number != other_number:
        return ""
    if (port, ip) == (other_port, other_ip):
        return "duplicate"
    if not port or not other_port:
        return "overlapping"
    return "dangerously ambiguous" if port == other_port and (not ip) != (not other_ip) else ""


any_port = st.tuples(
    st.sampled_from((80, 81)), st.sampled_from((0, 1, 2)), st.sampled_from(("", "10.0.0.1", "::1"))
)


@given(st.lists(any_port, max_size=12))
def test_every_port_is_compared_with_all_before_it(ports: list[Port]) -> None:
    path = "spec.containers[0].ports"
    expected = [
        f"{path}[{i}]: {found} port definition with {path}[{j}]"
        for i, port in enumerate(ports)
        for j, other in enumerate(ports[:i])
        if (found := relation(port, other))
    ]
    warnings = [text for text in port_warnings(of_ports(ports), "spec") if "hostIP set" not in text]
    assert warnings == expected


@pytest.mark.parametrize("host", [lambda _: (0, ""), lambda at: (at, ""), lambda at: (7, f"10.0.{at}")])
def test_ports_in_thousands(host: Any) -> None:
    """All are duplicates, or none has to do with another."""
    ports: list[Port] = [(80, *host(at)) for at in range(1, 9_000)]
    began = time.thread_time()
    warnings = port_warnings(of_ports(ports), "spec")
    assert time.thread_time() - began < COMPUTED_S
    assert len(warnings) == (MAX_WARNINGS if ports[0] == ports[1] else 0)


def of_files(paths: list[str]) -> list[Object]:
    items = [{"key": "k", "path": path} for path in paths]
    return [{"name": "v", "configMap": {"name": "m", "items": items}}]


def collide(one: str, other: str) -> bool:
    one, other = one.rstrip("/"), other.rstrip("/")
    if not one or not other:
        return False
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


@given(st.lists(st.sampled_from(("", "/", "a", "a/", "a/b", "a/b/c", "ab", "a-b", "a.b/c", "b")), max_size=12))
def test_every_file_is_compared_with_all_before_it(paths: list[str]) -> None:
    expected = [
        f'volume "v" (ConfigMap "m"): overlapping paths: "{path.rstrip("/")}" with "{other.rstrip("/")}"'
        for i, path in enumerate(paths)
        for other in paths[:i]
        if collide(path, other)
    ]
    assert volume_warnings(of_files(paths), "spec.volumes") == expected


@pytest.mark.parametrize(("form", "count"), [("a", MAX_COLLISIONS), ("a/{0}", 0), ("f{0}", 0)])
def test_files_in_thousands(form: str, count: int) -> None:
    paths = [form.format(at) for at in range(12_000)]
    began = time.thread_time()
    warnings = volume_warnings(of_files(paths), "spec.volumes")
    assert time.thread_time() - began < COMPUTED_S
    assert len(warnings) == count


def claims_of(claimed: list[Object], known: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    validate_container_requirements({"claims": claimed}, "r", known, errors)
    return errors


def test_a_claim_is_known_and_referred_to_once() -> None:
    claimed = [{"name": "a"}, {"name": "a"}, {"name": "b", "request": "x"}, {"name": "b"}, {"name": "c"}]
    assert [str(error) for error in claims_of(claimed, ["a", "b"])] == [
        'r.claims[1]: Duplicate value: "a"',
        'r.claims[3]: Duplicate value: "b"',
        'r.claims[4]: Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b',
    ]


def test_claims_in_thousands() -> None:
    """Each unknown one lists the known ones: those that are told a hundred, the others none."""
    began = time.thread_time()
    errors = claims_of([{"name": f"u{at}"} for at in range(9_000)], [f"c{at:04}" for at in range(9_000)])
    assert time.thread_time() - began < COMPUTED_S
    first = ", ".join(f"c{at:04}" for at in range(MAX_LISTED))
    text = f"must be one of the names in pod.spec.resourceClaims: {first}, and 8900 more"
    assert str(errors[0]) == f'r.claims[0]: Not found: "u0": {text}'
    assert str(errors[-1]) == 'r.claims[8999]: Not found: "u8999"'
    assert len(errors) == 9_000


def test_owners_in_thousands() -> None:
    """Each controller after the first is an error that quotes all owners, until that is a mebibyte."""
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    owners = [{**owner, "name": f"o{at}"} for at in range(4_000)]
    obj = {"metadata": {"name": "a", "namespace": "ns", "ownerReferences": owners}}
    messages = [error.message for error in metadata.validate_common(obj, namespaced=True)]
    text = 'Only one reference can have Controller set to true. Found "true" in references for Pod/o0 and Pod/'
    assert len(messages) == 3_999
    assert messages[-1] == f"Invalid value: ...: {text}o3999"
    assert sum(map(len, messages)) < 4 * metadata.MAX_QUOTED_BYTES
    whole = list(itertools.takewhile(lambda message: "..." not in message, messages))
    assert len(whole) > 1
    assert all(message.endswith(f"{text}o{at}") for at, message in enumerate(whole, 1))
