"""One offer for all resources, as Kubernetes' topology manager picks it."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.hints import Hint, ResourceHints
from flexlet.core.managers.settings import BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE
from flexlet.core.managers.topology.merging import Layout, merge

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("merging.yaml").read_text())
NODES = CpuSet.of(range(4))


def hint(text: str) -> Hint:
    nodes = text.removesuffix("?")
    return Hint(None if nodes == "any" else CpuSet.parse(nodes), preferred=not text.endswith("?"))


def provider(offers: dict[str, list[str] | None]) -> ResourceHints:
    return {name: None if texts is None else tuple(map(hint, texts)) for name, texts in offers.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_offers_merge_as_in_kubernetes(case: dict[str, Any]) -> None:
    providers = [provider(offers) for offers in case["offers"]]
    layout = Layout(nodes=NODES)
    assert merge(BEST_EFFORT, layout, providers) == hint(case["best"])
    assert merge(RESTRICTED, layout, providers) == hint(case["best"])
    assert merge(SINGLE_NUMA_NODE, layout, providers) == hint(case["single"])


def test_on_one_node_a_single_node_is_no_wish() -> None:
    """The one node is all nodes, and all nodes means no affinity."""
    assert merge(SINGLE_NUMA_NODE, Layout(nodes=CpuSet((0,))), [{"a": (hint("0"),)}]) == Hint(None, preferred=True)


FAR = {0: {0: 10, 1: 31, 2: 20}, 1: {0: 31, 1: 10, 2: 21}, 2: {0: 20, 1: 21, 2: 10}}


@pytest.mark.parametrize(
    ("offers", "closest", "narrowest"),
    [
        (["0-1", "0,2"], "0,2", "0-1"),
        (["1-2", "0,2"], "0,2", "0,2"),
        (["2", "0-1"], "2", "2"),
        (["0", "1"], "0", "0"),
        (["0-1?", "0,2?"], "0,2?", "0-1?"),
    ],
)
def test_closer_nodes_win_if_asked_for(offers: list[str], closest: str, narrowest: str) -> None:
    """Fewer nodes still come first; then the mean distance decides, then the numbers."""
    nodes = CpuSet.of(range(3))
    wishes = [provider({"a": offers}), provider({"b": offers})]
    assert merge(BEST_EFFORT, Layout(nodes=nodes, distances=FAR), wishes) == hint(closest)
    assert merge(BEST_EFFORT, Layout(nodes=nodes), wishes) == hint(narrowest)


def test_a_single_node_policy_does_not_look_at_distances() -> None:
    far = {0: {0: 50, 1: 60}, 1: {0: 60, 1: 10}}
    layout = Layout(nodes=CpuSet.of(range(2)), distances=far)
    assert merge(SINGLE_NUMA_NODE, layout, [provider({"a": ["0", "1"]})]) == hint("0")
    assert merge(BEST_EFFORT, layout, [provider({"a": ["0", "1"]})]) == hint("1")


masks = st.frozensets(st.integers(0, 3), min_size=1).map(CpuSet.of)
hints = st.builds(Hint, st.none() | masks, st.booleans())
resources = st.none() | st.lists(hints, max_size=4).map(tuple)
providers_of_hints = st.lists(st.dictionaries(st.sampled_from("abc"), resources, max_size=2), max_size=3)


@given(providers_of_hints)
def test_the_short_way_finds_what_all_combinations_give(providers: list[ResourceHints]) -> None:
    """Carrying on what combinations have in common changes nothing: compared with upstream's step by step."""
    assert merge(BEST_EFFORT, Layout(nodes=NODES), providers) == _one_by_one(providers)


def _one_by_one(providers: list[ResourceHints]) -> Hint:
    lists = [
        [Hint(None, preferred=True)] if each is None else list(each) or [Hint(None, preferred=False)]
        for offers in providers
        for each in (offers.values() or (None,))
    ]
    needed = max((min((len(h.nodes) for h in each if h.nodes), default=0) for each in lists), default=0)
    best: Hint | None = None
    for combination in product(*lists):
        named = [h.nodes for h in combination if h.nodes is not None]
        common = NODES
        for nodes in named:
            common = common & nodes
        preferred = all(h.preferred for h in combination) and len(set(named)) <= 1
        if common:
            best = _better(best, Hint(common, preferred), needed)
    return best or Hint(NODES, preferred=False)


def _better(current: Hint | None, candidate: Hint, needed: int) -> Hint:
    """The rules as the kubelet's comments tell them, case by case."""
    if current is None or (candidate.preferred and not current.preferred):
        return candidate
    if current.preferred and not candidate.preferred:
        return current
    have, new = len(current.nodes or ()), len(candidate.nodes or ())
    narrower = min((current, candidate), key=lambda h: (len(h.nodes or ()), sum(1 << n for n in h.nodes or ())))
    if current.preferred or have > needed:
        return narrower
    if have == needed:
        return narrower if new == needed else current
    if new > needed:
        return current
    if new == needed or new > have:
        return candidate
    return current if new < have else narrower
