import copy
from typing import Any

from tests.core.node.nodes import FACTS, LIFE, SETTINGS, settings

from flexlet.api.node import Taint
from flexlet.core.node.registration import corrections, node

META: dict[str, Any] = LIFE["node"]["metadata"]


def test_a_new_node() -> None:
    """Name, labels and annotation are those of the recorded node; the rest of its metadata is the server's."""
    body = node(SETTINGS, FACTS, {"phase": "x"})
    annotations = dict(META["annotations"])
    del annotations["node.alpha.kubernetes.io/ttl"]
    assert body == {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "node-a", "labels": META["labels"], "annotations": annotations},
        "spec": {},
        "status": {"phase": "x"},
    }


def test_a_node_says_that_its_agent_is_our_own() -> None:
    """Balloons are safer there; an agent that comes after another kind of agent says it too."""
    ours = settings(agent="0.1.0")
    assert node(ours, FACTS, {})["metadata"]["annotations"]["flexlet.io/agent"] == "0.1.0"
    for first in (True, False):
        patch = corrections(copy.deepcopy(META), ours, FACTS, {}, first=first)
        assert patch == {"annotations": {"flexlet.io/agent": "0.1.0"}}


def test_the_operator_has_a_say() -> None:
    """Labels win over defaults; a node for a cloud provider waits for it behind a taint."""
    given = settings(
        hostname="host-1",
        labels={"role": "db", "kubernetes.io/hostname": "mine"},
        taints=(Taint(key="dedicated", value="db", effect="NoSchedule"),),
        provider_id="cloud://1",
        external_cloud=True,
        node_ips=("10.0.0.1", "fd00::1"),
        attach_by_controller=False,
    )
    body = node(given, FACTS, {})
    assert body["metadata"]["labels"] == META["labels"] | {"role": "db", "kubernetes.io/hostname": "mine"}
    assert body["metadata"]["annotations"] == {"alpha.kubernetes.io/provided-node-ip": "10.0.0.1,fd00::1"}
    assert body["spec"] == {
        "providerID": "cloud://1",
        "taints": [
            {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
        ],
    }


def test_an_existing_node_is_corrected_where_it_differs() -> None:
    """Defaults once; operating system and architecture always; the operator's own labels never."""
    found = copy.deepcopy(META)
    assert corrections(found, SETTINGS, FACTS, {}, first=True) == {}
    found["labels"] = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64", "extra": "kept"}
    found["annotations"] = {"alpha.kubernetes.io/provided-node-ip": "10.0.0.9"}
    given = settings(labels={"role": "db"})
    assert corrections(found, given, FACTS, {}, first=True) == {
        "labels": {
            "kubernetes.io/hostname": "node-a",
            "kubernetes.io/os": "linux",
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": "amd64",
        },
        "annotations": {
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            "alpha.kubernetes.io/provided-node-ip": None,
        },
    }
    assert corrections(found, given, FACTS, {}, first=False) == {
        "labels": {"kubernetes.io/os": "linux"},
        "annotations": {"alpha.kubernetes.io/provided-node-ip": None},
    }
