import msgspec
from tests.core.eviction.candidates import MIB, NOW, below, candidate, fs, usage

from flexlet.core.eviction.messages import annotations, message
from flexlet.core.eviction.ranking import Candidate
from flexlet.core.eviction.signals import Level
from flexlet.core.stats.readings import ContainerReading

HARD = below("memory.available", "100Mi")
LOW = {"memory.available": Level(95 * MIB, 2000 * MIB, NOW)}
HEAD = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 95Mi. "


def test_the_one_who_used_too_much_is_named() -> None:
    """With what it used and what it had asked for."""
    greedy = candidate("web", 300, ",128Mi")
    text = "Container c was using 300Mi, request is 128Mi, has larger consumption of memory. "
    assert message("memory", greedy, [HARD], LOW) == HEAD + text
    assert annotations("memory", greedy) == {
        "offending_containers": "c",
        "offending_containers_usage": "300Mi",
        "starved_resource": "memory",
    }


def test_nobody_is_named_without_need() -> None:
    assert message("memory", candidate("web", 100, ",128Mi"), [HARD], LOW) == HEAD
    assert message("memory", candidate("web", None), [HARD], LOW) == HEAD
    assert annotations("memory", candidate("web", None)) == {}


def test_a_request_of_the_pod_is_told_in_any_case() -> None:
    """As the kubelet does, even if it is not exceeded; the containers follow."""
    pod = candidate("web", 100, level=(",128Mi", ""))
    text = (
        "Pod web was using 100Mi, request is 128Mi, has larger consumption of memory. "
        "Container c was using 100Mi, request is 0, has larger consumption of memory. "
    )
    assert message("memory", pod, [HARD], LOW) == HEAD + text
    assert annotations("memory", pod) == {
        "offending_pod": "web",
        "offending_pod_usage": "100Mi",
        "offending_containers": "c",
        "offending_containers_usage": "100Mi",
        "starved_resource": "memory",
    }


def test_containers_without_a_request_of_their_own_are_not_blamed() -> None:
    """Ephemeral ones cannot have any."""
    pod = candidate("web", 1, ",128Mi")
    assert pod.reading is not None
    debugger = ContainerReading(name="debugger", usage=usage(500))
    reading = msgspec.structs.replace(pod.reading, containers=(*pod.reading.containers, debugger))
    assert message("memory", Candidate(pod.pod, reading), [HARD], LOW) == HEAD


def test_disks_and_shares_have_their_words() -> None:
    """A percentage is told as the amount it stands for; logs and layer count together."""
    disk = below("nodefs.available", "10%")
    levels = {"nodefs.available": Level(50 * MIB, 1000 * MIB, NOW)}
    pod = candidate("web", 1, ",,ephemeral-storage=10Mi", logs=fs(8), rootfs=fs(8))
    assert message("ephemeral-storage", pod, [HARD, disk], {**LOW, **levels}) == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 50Mi. "
        "Container c was using 16Mi, request is 10Mi, has larger consumption of ephemeral-storage. "
    )
    unmeasured = candidate("web", 1, logs=fs(8))
    assert message("ephemeral-storage", unmeasured, [], {}) == "The node was low on resource: ephemeral-storage. "
    few = {"nodefs.inodesFree": Level(1000, 99999, NOW)}
    assert message("inodes", pod, [below("nodefs.inodesFree", "5%")], few) == (
        "The node was low on resource: inodes. Threshold quantity: 4999, available: 1k. "
    )
