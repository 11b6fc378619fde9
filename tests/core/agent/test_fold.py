"""What sources and looks show goes into the record, whatever the order in which sources speak."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import (
    NOW,
    SETUP,
    UID,
    container,
    deleted,
    living,
    pod,
    record,
    run,
    runtime,
    sandbox,
    sidecar,
)

from flexlet.api.nodepod.pod import HostIp
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import (
    FILE,
    AllocationRead,
    PodGone,
    PodSeen,
    Shown,
)
from flexlet.core.agent.record import Backoff, Doubt
from flexlet.core.cgroups.containers import container_resources
from flexlet.core.resize.allocation import Allocation, of_spec
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.runtime.shown import EXITED, NOT_READY, UNKNOWN

A, S = container("a"), sidecar("s")
POD = pod(A, init=(S,))
PAUSE = Backoff(delay_s=10, since=NOW)


def test_another_uid_is_another_pod() -> None:
    """The one that is known by this record is gone."""
    other = replace(POD, metadata=replace(POD.metadata, uid="uid-2"))
    before = living(POD, cleaned=True)
    assert folded(before, PodSeen(other), SETUP, NOW).record == replace(before, gone=True, cleaned=False)


def test_a_new_version_replaces_the_old_one() -> None:
    """What volumes tell of the pod is brought up to date at once."""
    before = living(POD)
    after = folded(before, PodSeen(deleted(POD)), SETUP, NOW).record
    assert after == replace(before, pod=deleted(POD))
    labelled = replace(POD, metadata=replace(POD.metadata, labels={"a": "b"}))
    assert folded(before, PodSeen(labelled), SETUP, NOW).record == replace(
        before, pod=labelled, refresh_volumes_at=NOW
    )


def test_nothing_new_leaves_the_record_as_it_is() -> None:
    """The very same one, so that nobody has to think about it."""
    before = living(POD)
    assert folded(before, PodSeen(POD), SETUP, NOW).record is before
    gone = replace(before, gone=True)
    assert folded(gone, PodGone(UID), SETUP, NOW).record is gone


def test_nothing_comes_back_under_its_old_uid() -> None:
    """Late news of a pod that is gone are dropped; a file may say the same again."""
    gone = living(POD, gone=True)
    assert folded(gone, PodSeen(deleted(POD)), SETUP, NOW).record is gone
    removed = replace(gone, source=FILE)
    assert folded(removed, PodSeen(POD, FILE), SETUP, NOW).record == replace(removed, gone=False)


def test_a_pod_that_is_gone_is_cleaned_up_again() -> None:
    """What was kept of one that had ended goes, too."""
    before = living(POD, cleaned=True, unmounted=True)
    assert folded(before, PodGone(UID), SETUP, NOW).record == replace(before, gone=True, cleaned=False)


def test_what_an_earlier_agent_wrote_down_is_taken_over() -> None:
    """What it did not write stays."""
    known = Allocation({"a": A.resources})
    before = record(POD)
    after = folded(before, AllocationRead(uid=UID, actuated=known), SETUP, NOW).record
    assert after == replace(before, actuated=known)


# Looks


def look(*runs: Any, **more: Any) -> Shown:
    return Shown(pod=runtime(*runs, sandboxes=more.pop("sandboxes", None)), **more)


def test_a_look_shows_everything() -> None:
    """And what was remembered of runs that are gone is forgotten."""
    before = record(
        POD,
        stale=True,
        unverified=True,
        doomed={"a#0": "x", "a#9": "x"},
        replaced=frozenset({"a#0", "a#9"}),
        hooked=frozenset({"a#9"}),
        stops={"a#0": 1.0, "a#9": 1.0},
        stopped_sandboxes=frozenset({"s0", "s9"}),
        retries=dict.fromkeys(("stop/a#0", "stop/a#9", "remove/s0", "remove/s9", "volumes"), PAUSE),
    )
    cgroup = PodCgroup(weight=1, quota=-1, memory_max=-1)
    sandboxes = (sandbox(1), sandbox(state=NOT_READY))
    shown = look(run(A), sandboxes=sandboxes, has_cgroup=True, cgroup=cgroup, messages={"a#0": "bye"}, order=3)
    assert folded(before, shown, SETUP, NOW).record == replace(
        before,
        stale=False,
        unverified=False,
        shown=shown.pod,
        order=3,
        has_cgroup=True,
        cgroup=cgroup,
        messages={"a#0": "bye"},
        ips=("10.1.0.1",),
        doomed={"a#0": "x"},
        replaced=frozenset({"a#0"}),
        hooked=frozenset(),
        stops={"a#0": 1.0},
        stopped_sandboxes=frozenset({"s0"}),
        retries=dict.fromkeys(("stop/a#0", "remove/s0", "volumes"), PAUSE),
    )


def test_a_sandbox_that_comes_back_was_not_stopped() -> None:
    """A runtime that had lost it could not stop it."""
    before = record(POD, stopped_sandboxes=frozenset({"s0", "s1"}))
    shown = look(sandboxes=(sandbox(1, state=NOT_READY), sandbox()))
    assert folded(before, shown, SETUP, NOW).record.stopped_sandboxes == {"s1"}


def test_what_is_in_doubt_is_known_since_when() -> None:
    lost = run(A, state=EXITED, exit_code=255, reason="Unknown")
    first = folded(record(POD), look(lost, run(A, 1), alive=frozenset({"a#0"})), SETUP, NOW).record
    assert (first.shown, first.doubts) == (
        runtime(replace(lost, state=UNKNOWN), run(A, 1)),
        {"a#0": Doubt(since=NOW, seen_at=NOW)},
    )
    again = folded(first, look(lost, alive=frozenset({"a#0", "s0"})), SETUP, NOW + 5).record
    assert again.doubts == {"a#0": Doubt(since=NOW, seen_at=NOW + 5), "s0": Doubt(since=NOW + 5, seen_at=NOW + 5)}
    cleared = folded(again, look(lost), SETUP, NOW + 6).record
    assert (cleared.shown, cleared.doubts) == (runtime(lost), {})


def test_an_older_view_that_arrives_late_is_dropped() -> None:
    """Views are ordered by when they were asked for."""
    before = living(POD, run(A), order=5)
    assert folded(before, look(order=4), SETUP, NOW).record is before


def test_memory_in_use_is_kept_until_it_is_used() -> None:
    """A look that did not ask for it does not take it away."""
    usage = MemoryUsage(1, {"a": 1})
    before = living(POD, run(A), usage=usage)
    assert folded(before, look(run(A)), SETUP, NOW).record.usage == usage
    assert folded(before, look(run(A), usage=MemoryUsage(2)), SETUP, NOW).record.usage == MemoryUsage(2)


@pytest.mark.parametrize(
    ("more", "sandboxes", "ips"),
    [
        ({}, (sandbox(ips=("10.1.0.9", "fd00::9")),), ("10.1.0.9", "fd00::9")),
        ({"ips": ("10.1.0.1",)}, (sandbox(state=NOT_READY, ips=()),), ("10.1.0.1",)),
        ({"ips": ("10.1.0.1",)}, (), ("10.1.0.1",)),
        ({"pod": replace(POD, status=replace(POD.status, pod_ips=(HostIp(ip="10.1.0.7"),)))}, (), ("10.1.0.7",)),
        ({"pod": pod(A, host_network=True)}, (sandbox(ips=(), network="NODE"),), ("10.0.0.1",)),
    ],
)
def test_addresses(more: dict[str, Any], sandboxes: Any, ips: tuple[str, ...]) -> None:
    """Those of the present sandbox, else the last known ones, else the API's; the node's on its network."""
    before = replace(record(POD), **more)
    assert folded(before, look(sandboxes=sandboxes), SETUP, NOW).record.ips == ips


def test_what_was_done_without_being_recorded_is_found_out() -> None:
    """After a failed step, or a dead agent, the runtime knows better than the record; else it is not asked."""
    of = pod(container("a", "100m,64Mi", "200m,128Mi"))
    known, other = of_spec(of), pod(container("a", "100m,64Mi", "300m,256Mi")).spec.containers[0]
    seen = look(replace(run(A), resources=container_resources(of, other, SETUP.host)), order=2)
    sure = living(of, run(A), actuated=known)
    assert folded(sure, seen, SETUP, NOW).record.actuated is known
    doubtful = replace(sure, doubtful=frozenset({"a"}))
    found = folded(doubtful, seen, SETUP, NOW).record.actuated.containers["a"]
    assert found == other.resources
    granted = replace(doubtful, allocation=Allocation({"a": other.resources}))
    assert folded(granted, seen, SETUP, NOW).record.actuated is known
    as_known = look(replace(run(A), resources=container_resources(of, of.spec.containers[0], SETUP.host)), order=2)
    assert folded(doubtful, as_known, SETUP, NOW).record.actuated is known
