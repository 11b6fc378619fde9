from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.eviction.candidates import candidate, fs

from flexlet.api.nodepod.volumes import EmptyDir, HostPath, Volume
from flexlet.core.eviction.ranking import Candidate, ranked

MEMORY = "memory.available"


def names(found: list[Candidate]) -> list[str]:
    return [each.pod.metadata.name for each in found]


def test_memory_is_taken_from_those_who_took_more_than_they_asked_for() -> None:
    """Then by priority, then by how much more; who cannot be measured goes first of all."""
    pods = [
        candidate("modest", 90, ",100Mi", priority=-10),
        candidate("important", 900, ",100Mi", priority=100),
        candidate("greedy", 500, ",100Mi"),
        candidate("besteffort", 300),
        candidate("large-but-asked", 900, ",850Mi"),
        candidate("unmeasured", None, ",1Gi", priority=5),
        candidate("exactly", 100, ",100Mi"),
    ]
    order = ["unmeasured", "greedy", "besteffort", "large-but-asked", "important", "modest", "exactly"]
    assert names(ranked(pods, MEMORY)) == names(ranked(pods, "allocatableMemory.available")) == order


def test_requests_of_the_whole_pod_count() -> None:
    """Pod-level ones where they are set, the containers' elsewhere, and the sandbox's overhead."""
    pods = [
        candidate("pod-level", 100, ",10Mi", level=(",200Mi", "")),
        candidate("only-cpu-there", 100, ",101Mi", level=("1", "")),
        candidate("overhead", 100, ",90Mi", overhead=",20Mi"),
        candidate("overhead-alone", 100, overhead=",200Mi"),
    ]
    assert names(ranked(pods, MEMORY)) == ["overhead-alone", "only-cpu-there", "overhead", "pod-level"]


VOLUMES = (
    Volume(name="scratch", empty_dir=EmptyDir()),
    Volume(name="ram", empty_dir=EmptyDir(medium="Memory")),
    Volume(name="host", host_path=HostPath(path="/x")),
)


def user(name: str, **measured: Any) -> Candidate:
    return candidate(name, 1, volumes=VOLUMES, **measured)


def test_disk_is_taken_from_those_who_fill_it() -> None:
    """On one filesystem everything counts; where images have their own, each counts where it lies."""
    pods = [
        user("logs", logs=fs(30, 3)),
        user("layer", rootfs=fs(50, 50)),
        user("volumes", volume_use={"scratch": fs(20, 9), "host": fs(20, 9), "ram": fs(900, 900)}),
    ]
    assert names(ranked(pods, "nodefs.available")) == ["layer", "volumes", "logs"]
    assert names(ranked(pods, "nodefs.inodesFree")) == ["layer", "volumes", "logs"]
    assert names(ranked(pods, "nodefs.available", own_image_fs=True)) == ["volumes", "logs", "layer"]
    assert names(ranked(pods, "imagefs.available", own_image_fs=True)) == ["layer", "logs", "volumes"]


def test_requested_disk_is_respected() -> None:
    pods = [
        candidate("asked", 1, ",,ephemeral-storage=100Mi", logs=fs(90)),
        candidate("did-not", 1, logs=fs(1)),
        candidate("nothing", None, priority=1),
    ]
    assert names(ranked(pods, "nodefs.available")) == ["nothing", "did-not", "asked"]


def test_processes_are_taken_by_priority() -> None:
    pods = [
        candidate("important", 1, priority=10, processes=9000),
        candidate("many", 1, processes=50),
        candidate("few", 1, processes=2),
        candidate("unmeasured", None),
    ]
    assert names(ranked(pods, "pid.available")) == ["unmeasured", "many", "few", "important"]


@given(st.permutations([candidate(f"p{n}", n * 10, ",45Mi", priority=n % 2) for n in range(8)]))
def test_the_order_does_not_depend_on_the_order(pods: list[Candidate]) -> None:
    assert names(ranked(pods, MEMORY)) == ["p6", "p7", "p5", "p4", "p2", "p0", "p3", "p1"]
