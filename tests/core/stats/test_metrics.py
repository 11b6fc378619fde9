"""``/metrics/resource`` and ``/metrics/cadvisor``, read back with Prometheus' own parser."""

from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.core.stats.node import NOW, node

from flexlet.core.stats import cadvisor, exposition, resource
from flexlet.core.stats.exposition import Family, Sample
from flexlet.core.stats.sources import MachineFacts

RECORDED = Path(__file__).parents[2] / "data" / "lives" / "kubelet-metrics.txt"
Series = tuple[str, tuple[tuple[str, str], ...]]


def recorded(page: str) -> dict[str, tuple[str, str]]:
    section = RECORDED.read_text().split(f"## {page}\n", 1)[1].split("\n\n", 1)[0]
    rows = [line.split() for line in section.splitlines()]
    return {name: (kind, labels) for name, kind, labels in rows}


def described(families: list[Family]) -> dict[str, tuple[str, str]]:
    return {
        family.name: (family.kind, ",".join(sorted({name for name, _ in family.samples[0].labels})) or "-")
        for family in families
        if family.samples
    }


def parsed(families: list[Family]) -> dict[Series, Any]:
    text = exposition.text(families).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): (sample.value, sample.timestamp)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_resource_families_are_the_kubelets() -> None:
    ours, theirs = described(resource.families(node())), recorded("/metrics/resource")
    assert ours == {name: about for name, about in theirs.items() if name != "container_swap_limit_bytes"}


def test_resource_samples_carry_the_time_of_reading() -> None:
    """All but the start time, which is no measurement."""
    samples = parsed(resource.families(node()))
    labels = (("container", "app"), ("namespace", "ns"), ("pod", "web"))
    assert samples["node_cpu_usage_seconds_total", ()] == (2.5, NOW)
    assert samples["node_memory_working_set_bytes", ()] == (8388608, NOW)
    assert samples["container_cpu_usage_seconds_total", labels] == (2.5, NOW)
    assert samples["container_memory_working_set_bytes", labels] == (8388608, NOW)
    assert samples["container_start_time_seconds", labels] == (1_779_999_005, None)
    assert samples["pod_swap_usage_bytes", labels[1:]] == (4096, NOW)
    assert samples["resource_scrape_error", ()] == (0, None)


def test_a_failed_scrape_says_so_and_nothing_else() -> None:
    assert parsed(resource.families(None)) == {("resource_scrape_error", ()): (1, None)}


def test_cadvisor_families_have_the_kubelets_kinds_and_labels() -> None:
    """Those that are left out cost a look at every process, or nobody looks at them."""
    ours, theirs = described(cadvisor.families(node(), MachineFacts(cpus=2))), recorded("/metrics/cadvisor")
    assert {name: about for name, about in ours.items() if theirs.get(name) != about} == {}
    missing = {name for name in set(theirs) - set(ours) if not name.startswith("machine_")}
    assert missing == {
        "container_blkio_device_usage_total",
        "container_cpu_load_average_10s",
        "container_cpu_load_d_average_10s",
        "container_file_descriptors",
        "container_fs_io_current",
        "container_fs_io_time_seconds_total",
        "container_fs_io_time_weighted_seconds_total",
        "container_fs_read_seconds_total",
        "container_fs_reads_merged_total",
        "container_fs_sector_reads_total",
        "container_fs_sector_writes_total",
        "container_fs_write_seconds_total",
        "container_fs_writes_merged_total",
        "container_health_state",
        "container_sockets",
        "container_tasks_state",
        "container_ulimits_soft",
    }


def test_cadvisor_labels_say_whose_a_cgroup_is() -> None:
    samples = parsed(cadvisor.families(node(), MachineFacts()))
    name = "container_memory_working_set_bytes"
    whose = {labels for found, labels in samples if found == name}
    empty = {"container": "", "image": "", "name": "", "namespace": "", "pod": ""}
    expected: list[dict[str, str]] = [
        {**empty, "id": "/"},
        {**empty, "id": "/kubepods"},
        {**empty, "id": "/kubepods/podu1", "namespace": "ns", "pod": "web"},
        {
            "container": "app",
            "id": "/kubepods/podu1/c1",
            "image": "img:1",
            "name": "c1",
            "namespace": "ns",
            "pod": "web",
        },
    ]
    assert whose == {tuple(sorted(labels.items())) for labels in expected}


def test_cadvisor_values() -> None:
    samples = parsed(cadvisor.families(node(), MachineFacts(cpus=2, memory_bytes=5, kernel_version="6.1")))
    of_container = {
        name: value for (name, labels), (value, _) in samples.items() if ("container", "app") in labels
    }
    chosen = {
        "container_cpu_cfs_throttled_seconds_total": 0.25,
        "container_memory_failcnt_total": 7,  # as the parser calls every counter
        "container_oom_events_total": 1,
        "container_spec_cpu_quota": 50000,
        "container_spec_cpu_shares": 500,
        "container_spec_memory_limit_bytes": 67108864,
        "container_spec_memory_swap_limit_bytes": 0,
        "container_fs_writes_bytes_total": 8192,
        "container_pressure_cpu_waiting_seconds_total": 0.003,
        "container_threads": 5,
        "container_processes": 2,
    }
    assert {name: of_container[name] for name in chosen} == chosen


def test_text_is_escaped_and_numbers_are_short() -> None:
    family = Family(
        "a", "gauge", "Help.", [Sample(1.0, (("l", 'q"b\\n\n'),), 1.5), Sample(0.1), Sample(float("inf"))]
    )
    assert exposition.text([Family("b", "gauge", "Nothing."), family]).decode() == (
        '# HELP a Help.\n# TYPE a gauge\na{l="q\\"b\\\\n\\n"} 1 1500\na 0.1\na +Inf\n'
    )
