"""A node for tests: the one of the recordings."""

import json
from pathlib import Path
from typing import Any

import msgspec
from tests import hosts

from flexlet.core.gates import Gates
from flexlet.core.machine import discovery
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.node.facts import Address, NodeFacts
from flexlet.core.node.settings import NodeSettings, declared_features
from flexlet.core.observations import Seen
from flexlet.core.refs import NODES
from flexlet.core.runtime.shown import Image, RuntimeCondition, RuntimeStatus, RuntimeVersion

LIFE = json.loads((Path(__file__).parents[2] / "data" / "lives" / "node.json").read_text())
NOW = 1_800_000_000.0
STAMP = "2027-01-15T08:00:00Z"

MACHINE = discovery.machine(hosts.snapshot("small"), hosts.STORAGE)
SETTINGS = NodeSettings(
    name="node-a",
    reservation=Reservation(eviction_hard={"memory.available": "50Mi"}),
    declared_features=declared_features(Gates()),
)
WELL = RuntimeStatus(
    conditions=(
        RuntimeCondition(type="RuntimeReady", status=True),
        RuntimeCondition(type="NetworkReady", status=True),
    )
)
FACTS = NodeFacts(
    machine=MACHINE,
    addresses=(Address("InternalIP", "<hostIP>"), Address("Hostname", "node-a")),
    runtime_version=RuntimeVersion("containerd", "1.7.24"),
    runtime=WELL,
    runtime_ready_at=NOW,
    images=(
        Image(
            id="b",
            tags=("docker.io/library/busybox:1", "registry.k8s.io/e2e-test-images/busybox:1.37.0-1"),
            size=2130584,
        ),
        Image(id="a", tags=("registry.k8s.io/pause:3.10.1", "registry.k8s.io/pause:3.8"), size=2130658),
    ),
)


def facts(**changed: Any) -> NodeFacts:
    return msgspec.structs.replace(FACTS, **changed)


def settings(**changed: Any) -> NodeSettings:
    return msgspec.structs.replace(SETTINGS, **changed)


def seen(node: dict[str, Any]) -> Seen:
    return Seen(NODES, json.dumps(node).encode())
