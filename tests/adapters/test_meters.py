"""Counting: what was counted is printed under the kubelet's names."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from flexlet.adapters.meters import Ledger
from flexlet.core.stats import exposition
from flexlet.core.stats.declared import FAMILIES, PROBES, Declared
from flexlet.errors import InvariantBroken

RECORDED = Path(__file__).parents[1] / "data" / "lives" / "kubelet-metrics.txt"
OURS = {
    "c": Declared("c", "counter", "C.", ("x", "y")),
    "evictions": Declared("evictions", "counter", "E."),
    "g": Declared("g", "gauge", "G."),
    "h": Declared("h", "histogram", "H.", ("x",), (1, 2.5)),
}


def text(ledger: Ledger) -> str:
    return exposition.text(ledger.families()).decode()


def test_counters_are_there_before_they_count_gauges_are_not() -> None:
    assert text(Ledger(OURS)) == "# HELP evictions E.\n# TYPE evictions counter\nevictions 0\n"


def test_counting() -> None:
    ledger = Ledger(OURS)
    ledger.count("c", {"y": "2", "x": "1"})
    ledger.count("c", {"x": "1", "y": "2"}, by=2)
    ledger.count("evictions")
    ledger.set("g", {}, 0.5)
    for value in (1, 2, 9):
        ledger.observe("h", {"x": "1"}, value)
    assert text(ledger) == (
        '# HELP c C.\n# TYPE c counter\nc{x="1",y="2"} 3\n'
        "# HELP evictions E.\n# TYPE evictions counter\nevictions 1\n"
        "# HELP g G.\n# TYPE g gauge\ng 0.5\n"
        "# HELP h H.\n# TYPE h histogram\n"
        'h_bucket{x="1",le="1"} 1\nh_bucket{x="1",le="2.5"} 2\nh_bucket{x="1",le="+Inf"} 3\n'
        'h_sum{x="1"} 12\nh_count{x="1"} 3\n'
    )


def test_what_is_gone_is_forgotten() -> None:
    ledger = Ledger(OURS)
    ledger.count("c", {"x": "1", "y": "a"})
    ledger.count("c", {"x": "2", "y": "a"})
    ledger.observe("h", {"x": "1"}, 1)
    ledger.forget("c", {"x": "1"})
    ledger.forget("h", {"x": "1"})
    assert [line for line in text(ledger).splitlines() if line[0] in "ch"] == ['c{x="2",y="a"} 1']


@pytest.mark.parametrize(("name", "labels"), [("z", {}), ("c", {"x": "1"}), ("evictions", {"x": "1"})])
def test_counting_what_is_not_declared_is_a_bug(name: str, labels: dict[str, str]) -> None:
    with pytest.raises(InvariantBroken, match="not declared"):
        Ledger(OURS).count(name, labels)


def test_declared_families_are_the_kubelets() -> None:
    """Kinds and labels of every recorded name that is declared here."""
    pages = RECORDED.read_text().split("## /stats/summary")[0].splitlines()
    rows = [
        line.split() for line in pages if line.startswith(("kubelet_", "prober_", "rest_client_", "kubernetes_"))
    ]
    recorded = {name: (kind, labels) for name, kind, labels in rows}
    ours = {
        family.name: (family.kind, ",".join(sorted(family.labels)) or "-")
        for family in FAMILIES.values()
        if family.name in recorded
    }
    assert ours == {name: recorded[name] for name in ours}
    assert len(ours) > 70


def test_everything_declared_can_be_printed_and_parsed() -> None:
    ledger = Ledger()
    for family in FAMILIES.values():
        labels = dict.fromkeys(family.labels, "v")
        count = {"counter": ledger.count, "gauge": ledger.set, "histogram": ledger.observe}[family.kind]
        count(family.name, labels)
    printed = exposition.text([*ledger.families(), *ledger.families(PROBES)]).decode()
    found = {sample.name for each in text_string_to_metric_families(printed) for sample in each.samples}
    expected = {
        f"{family.name}_count" if family.kind == "histogram" else family.name for family in FAMILIES.values()
    }
    assert {name for name in expected if name not in found and f"{name}_total" not in found} == set()
