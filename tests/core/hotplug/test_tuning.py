from msgspec.structs import replace
from tests import pods
from tests.core.hotplug import nodes

from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.hotplug.steps import TuneContainer
from flexlet.core.hotplug.tuning import sized, tunes
from flexlet.core.hotplug.view import view

SMALL, LARGE = (view(nodes.machine(memory=text), nodes.SETTINGS).host for text in ("8Gi", "16Gi"))
MIB = 1024**2
QOS = CgroupSettings(memory_qos=True)


def test_throttling_moves_with_the_node_if_there_is_no_limit() -> None:
    """memory.high lies nine tenths of the way from the request to what all pods may use (§3.4)."""
    free = nodes.tenant("free", ",1Gi")
    (found,) = tunes((free,), [SMALL], LARGE, QOS)
    assert found == TuneContainer(
        uid="free",
        container="c",
        container_id="free-c",
        files={"memory.high": str(13926 * MIB + 409 * 1024 // 4096 * 4096)},
        before={"memory.high": str(6553 * MIB + 614 * 1024 // 4096 * 4096)},
        oom_before=(875,),
        oom_after=938,
    )


def test_throttling_ends_where_the_request_is_all_there_is() -> None:
    """The file is opened again, or the container would stay at the mark of the larger node."""
    free = nodes.tenant("free", ",8Gi")
    (found,) = tunes((free,), [LARGE], SMALL, QOS)
    assert found.files == {"memory.high": "max"}


def test_limited_containers_guaranteed_ones_and_best_effort_stay_as_they_are() -> None:
    """Guaranteed -997, BestEffort 1000, swap 0, at every size."""
    same = (
        nodes.tenant("guaranteed", "1,1Gi", "1,1Gi"),
        nodes.tenant("besteffort"),
        nodes.tenant("critical", qos="Guaranteed", priority=2_000_000_000),
    )
    assert tunes(same, [SMALL], LARGE, nodes.SWAPPING) == ()


def test_a_runtime_is_told_what_the_size_means_for_a_container() -> None:
    """Or it would set again what the container was started with."""
    swaps = nodes.tenant("b", "500m,2Gi", ",4Gi").pod
    free, large = (nodes.tenant("f", size).pod for size in (",1Gi", ",8Gi"))
    assert sized(swaps, "c", SMALL, nodes.SWAPPING) == {"memory.swap.max": "1073741824"}
    assert sized(swaps, "c", LARGE, nodes.SWAPPING) == {"memory.swap.max": "536870912"}
    high = str(6553 * MIB + 614 * 1024 // 4096 * 4096)
    assert sized(free, "c", SMALL, QOS) == {"memory.high": high, "memory.swap.max": "0"}
    opened = {"memory.high": "max", "memory.swap.max": "0"}
    assert sized(large, "c", SMALL, QOS) == opened, "it may have had a mark before"
    assert sized(swaps, "gone", SMALL, nodes.SWAPPING) == {}


def test_only_what_runs_is_tuned_sidecars_too() -> None:
    """A container that is not there gets its values when it starts."""
    pod = pods.pod(
        pods.container("c", ",2Gi"),
        init=(pods.container("side", ",1Gi", sidecar=True), pods.container("first", ",1Gi")),
    )
    base = nodes.tenant("a")
    pod = replace(pod, metadata=base.pod.metadata)
    found = tunes((replace(base, pod=pod, running={"side": "1", "gone": "2"}),), [SMALL], LARGE, nodes.SWAPPING)
    assert [(each.container, each.oom_before, each.oom_after) for each in found] == [("side", (750,), 875)]


def test_a_kernel_without_swap_accounting_has_no_such_file() -> None:
    hosts = [replace(each, swap_controller=False) for each in (SMALL, LARGE)]
    (found,) = tunes((nodes.tenant("b", ",2Gi", ",4Gi"),), hosts[:1], hosts[1], nodes.SWAPPING)
    assert (found.files, found.oom_after) == ({}, 875)
