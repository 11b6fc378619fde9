import copy
from typing import Any

import msgspec
import pytest
from tests.core.node.nodes import FACTS, LIFE, MACHINE, NOW, SETTINGS, STAMP, facts, settings

from flexlet.core.gates import Gates, switch
from flexlet.core.node.facts import Address
from flexlet.core.node.settings import declared_features
from flexlet.core.node.status import images, status
from flexlet.core.runtime.shown import Image, RuntimeHandler, RuntimeStatus


def recorded() -> dict[str, Any]:
    """The status of the recorded node, as flexlet gives it: the same time everywhere, one feature less."""
    found: dict[str, Any] = copy.deepcopy(LIFE["node"]["status"])
    for condition in found["conditions"]:
        condition |= {"lastHeartbeatTime": STAMP, "lastTransitionTime": STAMP}
    found["nodeInfo"]["bootID"] = MACHINE.identity.boot_id
    found["declaredFeatures"] = [
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
    ]
    return found


def test_the_status_of_a_recorded_node() -> None:
    """The same machine gives the same status as a kubelet gave, whole."""
    assert status({}, SETTINGS, FACTS, NOW)[0] == recorded()


def test_what_others_advertise_stays() -> None:
    """Extended resources, conditions and fields of others; a published size of huge pages that is gone goes."""
    published = recorded()
    published["capacity"] |= {"example.com/gpu": "2", "hugepages-64Ki": "0"}
    published["allocatable"] |= {"hugepages-64Ki": "0", "example.com/gone": "1"}
    published["conditions"].insert(0, {"type": "KernelDeadlock", "status": "False"})
    published["volumesInUse"] = ["kubernetes.io/csi/x"]
    expected = recorded() | {"volumesInUse": ["kubernetes.io/csi/x"]}
    expected["capacity"] |= {"example.com/gpu": "2"}
    expected["allocatable"] |= {"example.com/gpu": "2"}
    expected["conditions"].insert(0, {"type": "KernelDeadlock", "status": "False"})
    assert status(published, SETTINGS, FACTS, NOW)[0] == expected


def test_swap_is_told_while_there_is_some() -> None:
    swapping = status({}, SETTINGS, facts(machine=msgspec.structs.replace(MACHINE, swap=1 << 30)), NOW)[0]
    assert swapping["nodeInfo"]["swap"] == {"capacity": 1 << 30}
    assert "swap" not in status(swapping, SETTINGS, FACTS, NOW)[0]["nodeInfo"]


def test_pods_may_depend_on_cpus() -> None:
    found = status({}, settings(pods_per_core=10), FACTS, NOW)[0]
    assert (found["capacity"]["pods"], found["allocatable"]["pods"]) == ("20", "20")


def test_what_the_runtime_can_do() -> None:
    """Handlers by name; features only if the runtime says anything about them."""
    runtime = RuntimeStatus(
        conditions=FACTS.runtime.conditions if FACTS.runtime else (),
        handlers=(RuntimeHandler(name="runc", user_namespaces=True), RuntimeHandler()),
        supplemental_groups_policy=False,
    )
    found = status({}, SETTINGS, facts(runtime=runtime), NOW)[0]
    assert found["runtimeHandlers"] == [
        {"name": "", "features": {"recursiveReadOnlyMounts": False, "userNamespaces": False}},
        {"name": "runc", "features": {"recursiveReadOnlyMounts": False, "userNamespaces": True}},
    ]
    assert found["features"] == {"supplementalGroupsPolicy": False}


def test_the_largest_images_are_listed() -> None:
    """Digests before tags, five names at most, equal sizes by id."""
    found = (
        Image(id="1", tags=("t1", "t2"), digests=("d1", "d2", "d3", "d4"), size=5),
        Image(id="2", size=5),
        Image(id="3", tags=("big",), size=9),
    )
    big, second, third = (
        {"names": ["big"], "sizeBytes": 9},
        {"sizeBytes": 5},
        {"names": ["d1", "d2", "d3", "d4", "t1"], "sizeBytes": 5},
    )
    assert images(found, 50) == images(found, -1) == [big, second, third]
    assert images(found, 2) == [big, second]


@pytest.mark.parametrize(
    ("node_ips", "published", "expected"),
    [
        (("10.0.0.1",), [], ["10.0.0.1", "node-a"]),
        ((), [], ["node-a"]),
        (("10.0.0.1",), [{"type": "ExternalIP", "address": "1.2.3.4"}], ["1.2.3.4"]),
    ],
)
def test_a_cloud_provider_decides_about_addresses(
    node_ips: tuple[str, ...], published: list[dict[str, str]], expected: list[str]
) -> None:
    """Until it has done so the node offers what the operator gave."""
    own = (Address("InternalIP", "10.0.0.1"), Address("Hostname", "node-a"))
    cloud = settings(external_cloud=True, node_ips=node_ips)
    found = status({"addresses": published}, cloud, facts(addresses=own), NOW)[0]
    assert [each["address"] for each in found["addresses"]] == expected


@pytest.mark.parametrize(
    ("gates", "features"),
    [
        (Gates(), ("InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers")),
        (
            switch({"InPlacePodLevelResourcesVerticalScaling": False}),
            ("InPlacePodVerticalScalingInitContainers",),
        ),
        (switch({"NodeDeclaredFeatures": False}), ()),
        (
            Gates({"NodeDeclaredFeatures": True, "RestartAllContainersOnContainerExits": True}),
            ("RestartAllContainersOnContainerExits",),
        ),
    ],
)
def test_features_are_declared_by_gate(gates: Gates, features: tuple[str, ...]) -> None:
    assert declared_features(gates) == features
