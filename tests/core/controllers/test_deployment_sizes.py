"""The arithmetic of rollouts."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.core.controllers.deployment import fences, revisions, sizes
from flexlet.core.views.deployment import DeploymentView, RollingUpdate, Strategy
from flexlet.core.views.replicaset import ReplicaSetStatus, ReplicaSetView


def deployment(replicas: int, surge: int | str = "25%", unavailable: int | str = "25%") -> DeploymentView:
    rolling = RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    return DeploymentView(uid="d", name="d", replicas=replicas, strategy=Strategy(rolling_update=rolling))


RECREATE = DeploymentView(uid="d", name="d", replicas=3, strategy=Strategy(type="Recreate"))


def replica_set(
    name: str, replicas: int, available: int | None = None, *, noted: tuple[int, int] | None = None, born: int = 0
) -> ReplicaSetView:
    annotations = {revisions.DESIRED: str(noted[0]), revisions.MAX: str(noted[1])} if noted else {}
    return ReplicaSetView(
        uid=name,
        name=name,
        replicas=replicas,
        created=f"{born:04}",
        annotations=annotations,
        status=ReplicaSetStatus(available_replicas=replicas if available is None else available),
    )


@pytest.mark.parametrize(
    ("d", "surge", "unavailable"),
    [
        (deployment(4), 1, 1),
        (deployment(10), 3, 2),
        (deployment(1), 1, 0),
        (deployment(10, 0, "1%"), 0, 1),
        (deployment(10, 5, 20), 5, 10),
        (deployment(0), 0, 0),
        (RECREATE, 0, 0),
    ],
)
def test_fences(d: DeploymentView, surge: int, unavailable: int) -> None:
    """Surge rounds up, unavailability down; if both are nothing, one pod may be missing."""
    assert (fences.max_surge(d), fences.max_unavailable(d)) == (surge, unavailable)


@pytest.mark.parametrize(
    ("new", "old", "wanted"),
    [
        pytest.param((0, 0), [(10, 10)], {"new": 3}, id="the new one starts with the surge"),
        pytest.param((3, 0), [(10, 10)], {"old0": 8}, id="old ones may fall to what must be available"),
        pytest.param((3, 0), [(8, 8)], {"new": 5}, id="then there is room again"),
        pytest.param((5, 0), [(8, 8)], {}, id="nothing moves until the new pods are available"),
        pytest.param((5, 5), [(8, 8)], {"old0": 3}, id="available ones replace old ones"),
        pytest.param((5, 0), [(8, 7)], {}, id="a broken old pod does not open a door for broken new ones"),
        pytest.param((10, 10), [(3, 3)], {"old0": 0}, id="the end"),
        pytest.param((10, 10), [(0, 0)], {}, id="done"),
        pytest.param((12, 12), [(0, 0)], {"new": 10}, id="too large itself"),
        pytest.param((0, 0), [(5, 0), (8, 8)], {"old0": 0}, id="broken old pods go first"),
    ],
)
def test_the_steps_of_a_rolling_update(
    new: tuple[int, int], old: Sequence[tuple[int, int]], wanted: dict[str, int]
) -> None:
    """Ten pods, three more allowed, two fewer."""
    d = deployment(10, 3, 2)
    olds = [replica_set(f"old{place}", *size, born=place) for place, size in enumerate(old)]
    assert sizes.rolled(d, replica_set("new", *new, born=9), olds) == wanted


@pytest.mark.parametrize(
    ("replicas", "new", "old", "wanted"),
    [
        pytest.param(5, 3, [], {"new": 5}, id="one runs: it takes all"),
        pytest.param(5, 5, [], {}, id="nothing to do"),
        pytest.param(5, 0, [3], {"old0": 5}, id="an old one runs alone: it takes all"),
        pytest.param(5, 0, [0, 0], {"new": 5}, id="none runs: the newest"),
        pytest.param(0, 3, [2], {"new": 0, "old0": 0}, id="to nothing"),
        pytest.param(20, 5, [8], {"new": 10, "old0": 16}, id="both grow in proportion"),
        pytest.param(5, 5, [8], {"new": 3, "old0": 4}, id="both shrink in proportion"),
        pytest.param(10, 5, [8], {"new": 5, "old0": 8}, id="same size: only the notes are renewed"),
    ],
)
def test_scaling_outside_a_step(replicas: int, new: int, old: Sequence[int], wanted: dict[str, int]) -> None:
    d = deployment(replicas, "30%", "20%")
    olds = [replica_set(f"old{place}", size, 0, noted=(10, 13), born=place) for place, size in enumerate(old)]
    assert sizes.scaled(d, replica_set("new", new, 0, noted=(10, 13), born=9), olds) == wanted


def test_once_the_new_one_is_complete_the_old_ones_go() -> None:
    d = deployment(3)
    new = replica_set("new", 3, noted=(3, 4), born=9)
    assert sizes.scaled(d, new, [replica_set("old", 2)]) == {"old": 0}


def test_without_a_new_one_the_youngest_old_one_is_scaled() -> None:
    olds = [replica_set("older", 0, born=1), replica_set("younger", 0, born=2)]
    assert sizes.scaled(deployment(3), None, olds) == {"younger": 3}


def test_recreate_does_not_scale_in_proportion() -> None:
    assert sizes.scaled(RECREATE, replica_set("new", 1), [replica_set("old", 1)]) == {}


SHARES = st.one_of(st.integers(0, 12), st.integers(0, 100).map(lambda percent: f"{percent}%"))


@given(st.integers(0, 12), SHARES, SHARES, st.lists(st.integers(0, 12), max_size=3), st.integers(0, 12))
def test_a_rolling_update_ends_and_keeps_its_promises(
    replicas: int, surge: int | str, unavailable: int | str, old: list[int], start: int
) -> None:
    """With pods that come up, every rollout ends; no step asks for more pods than allowed, or takes too many away.

    What may be unavailable is measured against what is available now: a rollout that starts with too few pods
    must not make it worse.
    """
    d = deployment(replicas, surge, unavailable)
    sets = {f"old{place}": size for place, size in enumerate(old)} | {"new": min(start, replicas)}
    must_stay = replicas - fences.max_unavailable(d)
    for _ in range(200):
        views = {name: replica_set(name, size, born=place) for place, (name, size) in enumerate(sets.items())}
        olds = [views[name] for name in sets if name != "new"]
        step = sizes.rolled(d, views["new"], olds)
        if not step:
            break
        before, sets = sets, sets | step
        grown = sum(sets.values()) - sum(before.values())
        assert grown <= 0 or sum(sets.values()) <= fences.most_pods(d)
        assert grown >= 0 or sum(sets.values()) >= min(must_stay, sum(before.values()))
    assert sets == dict.fromkeys(sets, 0) | {"new": replicas}


@given(st.integers(0, 50), st.lists(st.integers(1, 20), min_size=2, max_size=4))
def test_scaling_in_proportion_gives_out_exactly_what_is_allowed(replicas: int, running: list[int]) -> None:
    """When the notes fit what runs, as they do unless someone edits them."""
    noted = (sum(running), sum(running))
    sets = [replica_set(f"s{place}", size, 0, noted=noted, born=place) for place, size in enumerate(running)]
    d = deployment(replicas)
    wanted = sizes.scaled(d, sets[-1], sets[:-1])
    assert min(wanted.values()) >= 0
    assert sum(wanted.values()) == (fences.most_pods(d) if replicas else 0)
