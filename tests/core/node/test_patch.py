from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.core.node.nodes import FACTS, MACHINE, NOW, SETTINGS, facts

from flexlet.api import schema
from flexlet.api.patch import strategic
from flexlet.core.node import patch
from flexlet.core.node.facts import Address, NodeFacts
from flexlet.core.node.status import status
from flexlet.core.runtime.shown import Image, RuntimeHandler, RuntimeStatus

NODE = schema.type_for("", "v1", "Node")


def test_nothing_is_sent_for_a_heartbeat_alone() -> None:
    """Amounts are compared as amounts, however they are written."""
    old, _ = status({}, SETTINGS, FACTS, NOW)
    new, _ = status(old, SETTINGS, FACTS, NOW + 10)
    assert patch.changes(old | {"capacity": old["capacity"] | {"cpu": "2000m"}}, new) == {}


def test_only_differences_are_sent() -> None:
    old, _ = status({}, SETTINGS, FACTS, NOW)
    grown = msgspec.structs.replace(MACHINE, memory=MACHINE.memory + 1024, swap=1 << 20)
    moved = (Address("InternalIP", "10.0.0.1"), Address("InternalIP", "fd00::1"), Address("Hostname", "node-a"))
    new, _ = status(old, SETTINGS, facts(machine=grown, addresses=moved, images=()), NOW)
    assert patch.changes(old, new) == {
        "capacity": {"memory": "1959257Ki"},
        "allocatable": {"memory": "1908057Ki"},
        "nodeInfo": {"swap": {"capacity": 1 << 20}},
        "images": None,
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "InternalIP", "address": "fd00::1"},
            {"type": "Hostname", "address": "node-a"},
            {"$patch": "replace"},
        ],
    }


some_facts = st.builds(
    NodeFacts,
    machine=st.builds(
        lambda memory, swap, pages: msgspec.structs.replace(MACHINE, memory=memory, swap=swap, hugepages=pages),
        st.sampled_from([1 << 30, 1 << 31]),
        st.sampled_from([0, 1 << 20]),
        st.dictionaries(st.sampled_from([1 << 21, 1 << 30]), st.integers(0, 2)),
    ),
    addresses=st.lists(
        st.builds(Address, st.sampled_from(["InternalIP", "Hostname"]), st.sampled_from("abc")), unique=True
    ).map(lambda found: tuple(sorted(found, key=lambda each: each.type, reverse=True))),
    runtime=st.builds(
        RuntimeStatus,
        handlers=st.sampled_from([(), (RuntimeHandler(name="runc"),)]),
        supplemental_groups_policy=st.sampled_from([None, True, False]),
    ),
    images=st.sampled_from([(), (Image(id="a", size=1),), (Image(id="b", tags=("x",), size=2),)]),
    pressures=st.sets(st.sampled_from(["MemoryPressure", "DiskPressure"])).map(frozenset),
)
FOREIGN: dict[str, Any] = {
    "conditions": [{"type": "KernelDeadlock", "status": "False"}],
    "capacity": {"example.com/gpu": "1"},
    "volumesInUse": ["v"],
}


@given(some_facts, some_facts)
def test_a_patched_status_is_the_one_wanted(before: NodeFacts, after: NodeFacts) -> None:
    """Whatever changes, the server ends with the status that was computed, foreign parts included."""
    old, _ = status(FOREIGN, SETTINGS, before, NOW)
    new, _ = status(old, SETTINGS, after, NOW + 10)
    sent = patch.changes(old, new) | {"conditions": patch.heartbeat(old, new)}
    assert NODE is not None
    patched = strategic.apply(NODE, {"status": old}, {"status": sent}).value
    assert {key: value for key, value in patched["status"].items() if value} == new
    assert patch.changes(new, status(new, SETTINGS, after, NOW + 20)[0]) == {}
