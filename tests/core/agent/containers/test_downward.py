"""What a pod is told about itself."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod
from tests.core.agent.containers.oracle import recorded

from flexlet.api import decode
from flexlet.api.nodepod.volumes import ObjectFieldSelector, ResourceFieldSelector
from flexlet.api.pod import ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.agent.containers import downward
from flexlet.core.agent.containers.contents import Problem

NODE = {"cpu": "2", "memory": "1967420Ki", "ephemeral-storage": "10Gi", "hugepages-2Mi": "4Mi"}
HERE = replace(SETUP, allocatable={name: Quantity.parse(amount) for name, amount in NODE.items()})
LABELS = {"app": "web", "a/b": "x", "empty": "", "zone": "eu-1"}
ANNOTATIONS = {
    "note": 'line1\nline2 "quoted" \\ back',
    "tab": "a\tb",
    "uni": "grüße \u2028 \U0001f600 \x7f\x00",
    "example.com/Key": "v",
    "x": "y",
}
REFUSED_BY_THE_API = ("metadata.labels['']", "metadata.labels['-bad']")


@pytest.mark.parametrize(
    "case", recorded("amounts"), ids=lambda case: f"{case['resource']}/{case['divisor']}/{case['out']}"
)
def test_amounts_are_upstreams(case: dict[str, Any]) -> None:
    own, first = (decode.from_value(case[each], ResourceRequirements) for each in ("resources", "init"))
    of = pod(replace(container("c"), resources=own), init=(replace(container("i"), resources=first),))
    divisor = None if case["divisor"] is None else Quantity.parse(case["divisor"])
    wanted = ResourceFieldSelector(container_name=case["container"], resource=case["resource"], divisor=divisor)
    expected = Problem(case["error"]) if case["error"] else case["out"]
    assert downward.amount_by_name(of, wanted, HERE) == expected


def test_a_limit_that_a_container_lacks_is_the_pods_before_the_nodes() -> None:
    level = ResourceRequirements(limits={"cpu": Quantity.parse("750m")})
    of = pod(container("c"), resources=level)
    asked = [ResourceFieldSelector(resource=each) for each in ("limits.cpu", "limits.memory")]
    milli = ResourceFieldSelector(resource="limits.cpu", divisor=Quantity.parse("1m"))
    found = [downward.amount(of, of.spec.containers[0], each, HERE) for each in (*asked, milli)]
    assert found == ["1", "2014638080", "750"]


@pytest.mark.parametrize("case", recorded("fields"), ids=lambda case: case["path"])
def test_fields_are_upstreams(case: dict[str, str]) -> None:
    of = pod(container("c"), meta={"labels": LABELS, "annotations": ANNOTATIONS})
    found = downward.field(of, ObjectFieldSelector(field_path=case["path"]), HERE, ())
    if case["path"] in REFUSED_BY_THE_API:
        assert found == ""
        return
    expected = case["out"].replace("u-1", "uid-1") if case["path"] == "metadata.uid" else case["out"]
    assert found == (Problem(case["error"]) if case["error"] else expected)


@pytest.mark.parametrize(
    ("path", "expected", "on_host"),
    [
        ("spec.nodeName", "node-a", "node-a"),
        ("spec.serviceAccountName", "robot", "robot"),
        ("status.hostIP", "10.0.0.1", "10.0.0.1"),
        ("status.hostIPs", "10.0.0.1,fd00::1", "10.0.0.1,fd00::1"),
        ("status.podIP", "10.1.0.1", "10.0.0.1"),
        ("status.podIPs", "10.1.0.1,fd01::1", "10.0.0.1,fd00::1"),
    ],
)
def test_addresses_of_a_pod_on_the_hosts_network_are_the_hosts(path: str, expected: str, on_host: str) -> None:
    setup = replace(SETUP, ips=("10.0.0.1", "fd00::1"))
    own = ("10.1.0.1", "fd01::1")
    given = [pod(container("c"), service_account_name="robot", host_network=host) for host in (False, True)]
    assert [downward.field(each, ObjectFieldSelector(field_path=path), setup, own) for each in given] == [
        expected,
        on_host,
    ]
