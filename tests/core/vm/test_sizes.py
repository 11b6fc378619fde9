"""The size of a launcher pod: every row of vm-resize.md §4.2, §4.3 and §4.4, and how it changes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.units import GIB, MIB
from flexlet.core.vm import memlock, quotas
from flexlet.core.vm.guest import ANY, AS_IT_IS, Report
from flexlet.core.vm.overhead import overhead, terms
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.watching import correction
from flexlet.core.vm.wish import Wanted

PLAIN = Settings()


def wish(vcpus: int = 4, gib: float = 8, **more: Any) -> Wanted:
    """A machine with a screen, as KubeVirt's have one."""
    memory = int(gib * GIB)
    known = {"has_graphics": True, "max_sockets": 4 * vcpus, "min_memory": memory, "max_memory": 4 * memory}
    return Wanted(sockets=vcpus, memory=memory, **(known | more))


def sized(wanted: Wanted, settings: Settings = PLAIN, measured: int = 0) -> Need:
    return need(wanted, wanted.vcpus, wanted.memory, settings, measured)


def added(wanted: Wanted, settings: Settings = PLAIN) -> int:
    return overhead(wanted, wanted.vcpus, wanted.memory, settings)


@pytest.mark.parametrize(
    ("wanted", "ratio", "page_tables", "beside", "pod", "guest_only"),
    [
        (wish(2, 4), 1.0, 8, 304, 4400, 296),
        (wish(4, 8), 1.0, 16, 328, 8520, 312),
        (wish(8, 16), 1.0, 32, 376, 16760, 344),
        (wish(16, 64), 1.0, 128, 536, 66072, 408),
        (wish(has_graphics=False), 1.0, 16, 296, 8488, 280),
        (wish(has_vfio=True), 1.0, 16, 1352, 9544, 1336),
        (wish(is_dedicated=True, has_tpm=True), 1.0, 16, 481, 8673, 465),
        (wish(architecture="arm64"), 1.0, 16, 456, 8648, 440),
        (wish(is_encrypted=True, has_tpm=True), 1.0, 16, 637, 8829, 621),
        (wish(), 1.5, 16, 492, 8684, 468),
    ],
)
def test_overheads(wanted: Wanted, ratio: float, page_tables: int, beside: int, pod: int, guest_only: int) -> None:
    """`guest_only` is what KubeVirt adds to a machine that names no request: it forgets the page tables."""
    settings = Settings(overhead_ratio=ratio)
    found = dict(terms(wanted, wanted.vcpus, wanted.memory, settings))
    forgotten = found["page tables"] * ratio
    assert (found["page tables"], added(wanted, settings)) == (page_tables * MIB, beside * MIB)
    assert sized(wanted, settings).memory == pod * MIB
    assert added(wanted, settings) - forgotten == guest_only * MIB


@pytest.mark.parametrize(
    ("more", "term", "size"),
    [
        ({"has_downward_metrics": True}, "downward metrics", 1),
        ({"exec_probes": 1}, "exec probes", 110),
        ({"exec_probes": 2}, "exec probes", 120),
        ({"added_overhead": 77 * MIB}, "addedOverhead", 77),
        ({"binding_memory": 250 * MIB}, "network bindings", 250),
        ({"memory_request": GIB, "memory_limit": GIB, "cpu_request_m": 1, "cpu_limit_m": 1}, "guaranteed", 100),
    ],
)
def test_terms_of_their_own(more: dict[str, Any], term: str, size: int) -> None:
    wanted = wish(**more)
    assert dict(terms(wanted, 4, wanted.memory, PLAIN))[term] == size * MIB
    assert added(wanted) == (328 + size) * MIB


def test_the_terms_by_name() -> None:
    assert [(name, size // MIB) for name, size in terms(wish(), 4, 8 * GIB, PLAIN)] == [
        ("page tables", 16),
        ("virt-launcher-monitor", 25),
        ("virt-launcher", 100),
        ("virtlogd", 25),
        ("virtqemud", 40),
        ("qemu", 50),
        ("vCPUs", 32),
        ("I/O thread", 8),
        ("graphics", 32),
    ]


def test_bindings_are_not_multiplied() -> None:
    """The ratio is for what KubeVirt's formula knows, bindings come after it."""
    plugged = wish(binding_memory=250 * MIB)
    assert added(plugged, Settings(overhead_ratio=1.5)) == (492 + 250) * MIB


def test_a_launcher_without_libvirt() -> None:
    assert [(name, size // MIB) for name, size in terms(wish(overhead_model="flexlet"), 4, 8 * GIB, PLAIN)] == [
        ("page tables", 16),
        ("vm-launcher", 64),
        ("qemu", 50),
        ("vCPUs", 32),
        ("graphics", 32),
    ]


@pytest.mark.parametrize(
    ("model", "known", "resident", "off"),
    [
        ("measured", 0, 0, 0),
        ("measured", 0, 194, 0),
        ("measured", 0, 213, 0),
        ("measured", 0, 214, 20),
        ("measured", 0, 150, -44),
        ("measured", 20, 220, 20),
        ("measured", 20, 260, 66),
        ("flexlet", 0, 300, 0),
        ("kubevirt", 0, 300, 0),
    ],
)
def test_a_measure_corrects_the_formula_when_it_is_worth_it(
    model: Any, known: int, resident: int, off: int
) -> None:
    """194Mi by the formula: 10 % more or less is left alone; the correction holds for other sizes as well."""
    wanted = wish(overhead_model=model)
    report = Report(run_state="Running", vcpus=4, memory=8 * GIB, requested=8 * GIB)
    found = correction(wanted, report, known * MIB, resident * MIB, PLAIN)
    assert found == off * MIB
    assert need(wanted, 8, 16 * GIB, PLAIN, found).memory == need(wanted, 8, 16 * GIB, PLAIN).memory + off * MIB


@pytest.mark.parametrize(
    ("wanted", "settings", "cpu"),
    [
        (wish(4), PLAIN, (400, None)),
        (wish(16), PLAIN, (1600, None)),
        (wish(1), Settings(cpu_allocation_ratio=3), (334, None)),
        (wish(4, io_threads=4), PLAIN, (800, None)),
        (wish(4, limit_policy="Match"), PLAIN, (400, 4000)),
        (wish(4, cpu_limit_m=2500, cpu_request_m=500), PLAIN, (500, 2500)),
        (wish(4, cpu_limit_m=2500), PLAIN, (2500, 2500)),
        (wish(4, cpu_limit_m=2500, cpu_request_m=100, limit_policy="Match"), PLAIN, (400, 2500)),
        (wish(64, cpu_limit_m=4000, cpu_request_m=1000), PLAIN, (6400, 6400)),
        (wish(4, is_dedicated=True), PLAIN, (4000, 4000)),
        (wish(4, is_dedicated=True, io_threads=2), PLAIN, (6000, 6000)),
        (wish(4, is_dedicated=True, has_emulator_thread=True), PLAIN, (5000, 5000)),
        (wish(4, is_dedicated=True, has_emulator_thread=True), Settings(has_even_parity=True), (6000, 6000)),
        (wish(5, is_dedicated=True, has_emulator_thread=True), Settings(has_even_parity=True), (6000, 6000)),
    ],
)
def test_cpus(wanted: Wanted, settings: Settings, cpu: tuple[int, int | None]) -> None:
    found = sized(wanted, settings)
    assert (found.cpu_m, found.cpu_limit_m) == cpu


@pytest.mark.parametrize(
    ("wanted", "settings", "memory"),
    [
        (wish(), PLAIN, (8520, None)),
        (wish(memory_limit=8 * GIB), PLAIN, (8520, 8520)),
        (wish(memory_limit=4 * GIB), PLAIN, (8520, 8520)),
        (wish(memory_limit=10 * GIB), PLAIN, (10568, 10568)),
        (wish(memory_request=8 * GIB, memory_limit=10 * GIB), PLAIN, (8520, 10568)),
        (wish(memory_request=9 * GIB), PLAIN, (9544, None)),
        (wish(is_overhead_overcommitted=True), PLAIN, (8192, None)),
        (wish(is_overhead_overcommitted=True, memory_limit=8 * GIB), PLAIN, (8192, 8520)),
        (wish(), Settings(memory_overcommit=200), (4096 + 328, None)),
        (wish(is_dedicated=True), PLAIN, (8620, 8620)),
    ],
)
def test_memory(wanted: Wanted, settings: Settings, memory: tuple[int, int | None]) -> None:
    found = sized(wanted, settings)
    assert (found.memory / MIB, found.memory_limit and found.memory_limit / MIB) == memory


def test_huge_pages_are_the_guest_and_the_rest_is_memory() -> None:
    found = sized(wish(page_size=2 * MIB, page_name="2Mi", memory_limit=8 * GIB))
    assert found == Need(400, 328 * MIB, None, 328 * MIB, {"hugepages-2Mi": 8 * GIB})


def test_classes() -> None:
    same = {"cpu_request_m": 4000, "cpu_limit_m": 4000, "memory_request": 8 * GIB, "memory_limit": 8 * GIB}
    assert sized(wish()).qos == "Burstable"
    assert sized(wish(memory_limit=8 * GIB)).qos == "Burstable"
    assert sized(wish(**same)) == Need(4000, 8620 * MIB, 4000, 8620 * MIB)
    assert sized(wish(is_dedicated=True)).qos == "Guaranteed"


AMOUNTS = st.none() | st.integers(1, 64).map(lambda gib: gib * GIB)
CPUS = st.none() | st.integers(1, 64_000)
SIZES = st.tuples(st.integers(1, 256), st.integers(512, 1 << 16).map(lambda blocks: blocks * 2 * MIB))
WISHES = st.builds(
    Wanted,
    sockets=st.just(1),
    max_sockets=st.just(512),
    min_memory=st.just(GIB),
    memory=st.just(GIB),
    max_memory=st.just(1 << 40),
    cpu_request_m=CPUS,
    cpu_limit_m=CPUS,
    memory_request=AMOUNTS,
    memory_limit=AMOUNTS,
    limit_policy=st.sampled_from(["None", "Match"]),
    overhead_model=st.sampled_from(["kubevirt", "flexlet", "measured"]),
    is_dedicated=st.booleans(),
    has_graphics=st.booleans(),
    has_vfio=st.booleans(),
    is_overhead_overcommitted=st.booleans(),
)


@given(WISHES, SIZES, SIZES, st.sampled_from(["1", "1.1", "1.5", "3"]))
def test_the_difference_of_two_sizes(
    wanted: Wanted, one: tuple[int, int], other: tuple[int, int], ratio: str
) -> None:
    """d_pod = d_guest + d_guest/512 + 8Mi * d_vcpu, the last two times the ratio; and there is no drift."""
    bare = msgspec.structs.replace(
        wanted, memory_request=None, memory_limit=None, is_dedicated=False, is_overhead_overcommitted=False
    )
    settings = Settings(overhead_ratio=float(ratio))
    first, second = (need(bare, vcpus, memory, settings) for vcpus, memory in (one, other))
    guest, vcpus = other[1] - one[1], other[0] - one[0]
    tenths = round(float(ratio) * 10)
    expected = guest + (guest // 512 + 8 * MIB * vcpus) * tenths / 10
    assert abs(second.memory - first.memory - expected) <= 1
    assert need(bare, *one, settings) == first


@given(WISHES, SIZES, SIZES)
def test_a_pod_holds_its_guest_grows_with_it_and_keeps_its_class(
    wanted: Wanted, one: tuple[int, int], other: tuple[int, int]
) -> None:
    first, second = (need(wanted, vcpus, memory, PLAIN) for vcpus, memory in (one, other))
    larger = need(wanted, max(one[0], other[0]), max(one[1], other[1]), PLAIN)
    assert (first.qos, first.cpu_limit_m is None, first.memory_limit is None) == (
        second.qos,
        second.cpu_limit_m is None,
        second.memory_limit is None,
    )
    for found, (_, memory) in ((first, one), (second, other)):
        assert found.memory >= memory
        assert found.memory_limit is None or found.memory_limit >= found.memory
        assert found.cpu_limit_m is None or found.cpu_limit_m >= found.cpu_m > 0
        assert (larger.cpu_m, larger.memory) >= (found.cpu_m, found.memory)


def test_the_quota_of_section_6() -> None:
    """32Gi hard, 20Gi used with this machine: 8.05Gi more in place, 16.37Gi more by a second pod."""
    wanted = wish()
    small, large = need(wanted, 4, 8 * GIB, PLAIN), need(wanted, 8, 16 * GIB, PLAIN)
    used: quotas.Charges = {"requests.memory": 20 * GIB}
    found = quotas.peaks(used, small, large)
    gib = {way: round(peak["requests.memory"] / GIB, 2) for way, peak in msgspec.structs.asdict(found).items()}
    assert (round(small.memory / GIB, 2), round(large.memory / GIB, 2)) == (8.32, 16.37)
    assert gib == {"in_place": 28.05, "migration": 36.37}
    hard: quotas.Charges = {"requests.memory": 32 * GIB}
    assert (quotas.exceeded(found.in_place, hard), quotas.exceeded(found.migration, hard)) == (
        [],
        ["requests.memory"],
    )


def test_a_shrink_is_charged_nothing_more_in_place() -> None:
    wanted = wish(limit_policy="Match")
    large, small = need(wanted, 8, 16 * GIB, PLAIN), need(wanted, 4, 8 * GIB, PLAIN)
    used = quotas.charges(large)
    assert quotas.peaks(used, large, small).in_place == used
    assert quotas.peaks(used, large, small).migration == {
        "requests.cpu": 1200,
        "requests.memory": (16760 + 8520) * MIB,
        "limits.cpu": 12000,
        "limits.memory": 0,
    }


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({}, AS_IT_IS),
        ({"has_vfio": True}, ANY),
        ({"has_vfio": True, "mem_lock": "NotRequired"}, AS_IT_IS),
        ({"mem_lock": "Required"}, ANY),
        ({"is_encrypted": True}, ANY),
    ],
)
def test_what_may_be_locked(more: dict[str, Any], limit: int) -> None:
    """Any amount or nothing, so that a grow does not break the device."""
    assert memlock.lock_limit(wish(**more)) == limit


@pytest.mark.parametrize(
    ("gib", "page_size", "has_vfio", "size"),
    [
        (8, 0, False, 2 * MIB),
        (4096, 0, False, 2 * MIB),
        (64, 0, True, 2 * MIB),
        (65, 0, True, 4 * MIB),
        (128, 0, True, 4 * MIB),
        (1024, 0, True, 32 * MIB),
        (8, GIB, False, GIB),
        (8, GIB, True, GIB),
    ],
)
def test_blocks_that_devices_can_map(gib: int, page_size: int, has_vfio: bool, size: int) -> None:
    """At least a 32768th of all that can be plugged, so that mappings do not run out."""
    assert memlock.block_size(gib * GIB, page_size, has_vfio=has_vfio) == size
