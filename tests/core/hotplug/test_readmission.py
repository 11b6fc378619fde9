from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests import pods
from tests.core.hotplug import nodes

from flexlet.api.pod import ResourceList
from flexlet.core.hotplug.readmission import Readmission, in_order, readmitted
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import view
from flexlet.core.resize.allocation import Allocation, applied
from flexlet.core.resize.balloons import FLOOR
from flexlet.core.resources.amounts import as_integers, total

TABLE = nodes.table("victims.yaml")
SETTINGS = ResizeSettings()


def room(text: str, pods_: int = 110) -> ResourceList:
    return pods.amounts(f"{text},pods={pods_}")


def named(found: Readmission) -> list[str]:
    return [each.uid for each in found.victims]


def people() -> list[Tenant]:
    return [
        nodes.tenant(name, age=age, **{**row, "limits": row["requests"] if row["qos"] == "Guaranteed" else ""})
        for age, (name, row) in enumerate(TABLE["pods"].items())
    ]


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_the_table_of_victims(case: dict[str, Any]) -> None:
    """Who stays, and the exact words for who does not."""
    allocatable = view(nodes.machine(**case["machine"]), nodes.SETTINGS).allocatable
    settings = ResizeSettings(order=case["order"], cpu=case.get("cpu", "Strict"))
    found = readmitted(people(), allocatable, settings)
    said = {each.uid: each.message for each in found.victims}
    assert said == {uid: f"Pod was rejected: {why}" for uid, why in case["victims"].items()}
    assert sorted((*found.stays, *said)) == ["P1", "P2", "P3", "P4", "P5"]
    assert list(found.notes) == case.get("notes", [])


def test_what_balloons_keep_is_not_said_to_be_the_critical_pods_fault() -> None:
    """They fill the node to the last thousandth, and a balloon keeps one of its own."""
    people = [nodes.tenant("etcd", "2,1Gi", static=True), nodes.tenant("balloon", "1,1Gi", balloon=True, age=1)]
    found = readmitted(people, room("2,4Gi"), SETTINGS)
    assert (found.victims, found.notes) == ((), ())


def test_a_victim_knows_all_about_itself() -> None:
    pod = nodes.tenant("web", "2,1Gi", priority=7, grace_s=600)
    found = readmitted([pod], room("1,4Gi"), SETTINGS)
    assert found == Readmission(
        victims=(
            Victim(
                uid="web",
                namespace="default",
                name="web",
                reason="OutOfcpu",
                message="Pod was rejected: Node didn't have enough resource: cpu, "
                "requested: 2000, used: 0, capacity: 1000",
                resource="cpu",
                requested=2000,
                used=0,
                capacity=1000,
                priority=7,
                grace_s=30,
            ),
        )
    )


def test_everybody_is_asked_as_if_the_node_were_empty() -> None:
    """§4.2: three pods of 2 CPUs on 4 lose one, not all three."""
    three = [nodes.tenant(name, "2", age=age) for age, name in enumerate("abc")]
    found = readmitted(three, room("4,1Gi"), SETTINGS)
    assert (found.stays, named(found)) == (("a", "b"), ["c"])


def test_a_smaller_pod_later_may_stay() -> None:
    found = readmitted(
        [nodes.tenant("a", "3"), nodes.tenant("b", "2", age=1), nodes.tenant("c", "1", age=2)],
        room("4,1Gi"),
        SETTINGS,
    )
    assert (found.stays, named(found)) == (("a", "c"), ["b"])


@pytest.mark.parametrize(
    ("requests", "allocatable", "reason"),
    [
        ("2,2Gi", room("1,1Gi,"), "OutOfcpu"),
        ("1,2Gi,ephemeral-storage=2Gi", room("1,1Gi,ephemeral-storage=1Gi"), "OutOfmemory"),
        (
            ",,ephemeral-storage=2Gi,hugepages-2Mi=4Mi",
            room("1,1Gi,ephemeral-storage=1Gi"),
            "OutOfephemeral-storage",
        ),
        (",,hugepages-2Mi=4Mi,example.com/a=2", room("1,1Gi,example.com/a=1"), "OutOfhugepages-2Mi"),
        (",,example.com/a=2", room("1,1Gi,example.com/a=1"), "OutOfexample.com/a"),
        ("2,2Gi", room("1,1Gi", pods_=0), "OutOfpods"),
        ("", room("0,0", pods_=0), "OutOfpods"),
    ],
)
def test_the_first_shortage_names_the_reason(requests: str, allocatable: ResourceList, reason: str) -> None:
    found = readmitted([nodes.tenant("a", requests)], allocatable, SETTINGS)
    assert [each.reason for each in found.victims] == [reason]


def test_what_nobody_advertises_is_not_asked_for() -> None:
    """As in admission: device plugins are another one's business."""
    assert readmitted([nodes.tenant("a", ",,example.com/a=2")], room("1,1Gi"), SETTINGS).victims == ()


def test_critical_pods_stay_whatever_is_left() -> None:
    """§4.5: and it is told that they do not fit."""
    found = readmitted(
        [nodes.tenant("etcd", "1,2Gi", static=True, age=9), nodes.tenant("dns", ",2Gi", priority=2_000_000_000)],
        room("1,1Gi"),
        SETTINGS,
    )
    assert found == Readmission(stays=("dns", "etcd"), notes=("CriticalOverCapacity",))


def test_who_leaves_anyway_is_neither_asked_nor_counted() -> None:
    found = readmitted(
        [nodes.tenant("a", "2", leaving=True), nodes.tenant("b", "2", age=1)], room("2,1Gi"), SETTINGS
    )
    assert found == Readmission(stays=("b",))


def test_balloons_pay_first_and_keep_what_is_left() -> None:
    """They are never ended, and a limit that equals the request goes with it."""
    balloon = nodes.tenant("balloon", "2,4Gi", "2,4Gi", balloon=True, priority=2_000_001_000)
    web = nodes.tenant("web", "2,3Gi", age=1)
    found = readmitted([balloon, web], room("3,6Gi"), SETTINGS)
    smaller = Allocation({"c": pods.resources("1,3Gi", "1,3Gi")})
    assert found == Readmission(stays=("web", "balloon"), allocations={"balloon": smaller})


def test_balloons_keep_a_little() -> None:
    """Two of them: 1m and 16Mi each, and only then somebody else pays."""
    two = [nodes.tenant(name, "1,1Gi", ",1Gi", balloon=True, age=age) for age, name in enumerate(("x", "y"))]
    web = nodes.tenant("web", "1,1Gi", age=5)
    least = Allocation({"c": pods.resources("1m,16Mi", ",16Mi")})
    found = readmitted([*two, web], room("1002m,1056Mi"), SETTINGS)
    assert found == Readmission(stays=("web", "x", "y"), allocations={"x": least, "y": least})
    found = readmitted([*two, web], room("1001m,1056Mi"), SETTINGS)
    assert [each.message for each in found.victims] == [
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 2, capacity: 1001"
    ]


def test_a_balloon_of_several_containers_pays_with_one_after_the_other() -> None:
    containers = (pods.container("a", "1,1Gi"), pods.container("b", "1,1Gi"))
    balloon = nodes.tenant("x", balloon=True, containers=containers)
    found = readmitted([balloon], room("500m,1Gi"), SETTINGS)
    assert found.allocations == {
        "x": Allocation({"a": pods.resources("1m,16Mi"), "b": pods.resources("499m,1008Mi")})
    }


AMOUNTS = st.sampled_from((0, 1, 100, 500, 1000, 2000))


@st.composite
def tenants(draw: st.DrawFn) -> list[Tenant]:
    """Up to nine pods of all kinds."""
    found = []
    for number in range(draw(st.integers(0, 9))):
        cpu, memory = draw(AMOUNTS), draw(AMOUNTS)
        requests = f"{cpu}m,{memory}Mi"
        found.append(
            nodes.tenant(
                f"p{number}",
                requests,
                draw(st.sampled_from(("", requests))),
                age=draw(st.integers(0, 3)),
                priority=draw(st.sampled_from((0, 10, 2_000_000_000))),
                static=draw(st.sampled_from((False, False, True))),
                balloon=draw(st.sampled_from((False, False, True))),
                leaving=draw(st.sampled_from((False, False, True))),
            )
        )
    return found


LIVES = st.builds(
    lambda people, cpu, memory, count, order, rule: (
        people,
        room(f"{cpu}m,{memory}Mi", count),
        ResizeSettings(order=order, cpu=rule),
    ),
    tenants(),
    st.integers(0, 6000),
    st.integers(0, 6000),
    st.integers(0, 9),
    st.sampled_from(("priority", "creation")),
    st.sampled_from(("Strict", "Tolerate")),
)
Life = tuple[list[Tenant], ResourceList, ResizeSettings]


def held(people: list[Tenant], found: Readmission) -> dict[str, int]:
    """What all these hold after the change."""
    return as_integers(
        total(
            each.requests
            if each.uid not in found.allocations
            else replace(each, pod=applied(each.pod, found.allocations[each.uid])).requests
            for each in people
        )
    )


@given(LIVES)
def test_nobody_is_ended_who_is_safe_and_everybody_is_somewhere(life: Life) -> None:
    people, allocatable, settings = life
    found = readmitted(people, allocatable, settings)
    by_uid = {each.uid: each for each in people}
    for uid in named(found):
        mine = by_uid[uid]
        assert (mine.is_critical, mine.is_balloon, mine.leaving) == (False, False, False)
    present = sorted(each.uid for each in people if not each.leaving)
    assert sorted((*found.stays, *named(found))) == present
    assert all(by_uid[uid].is_balloon for uid in found.allocations)


@given(LIVES)
def test_whoever_is_ended_would_not_have_fitted(life: Life) -> None:
    """Beside those before it that stay, and with every balloon as small as it can be: so nobody pays for one."""
    people, allocatable, settings = life
    found = readmitted(people, allocatable, settings)
    limits = as_integers(allocatable)
    floors = [each for each in people if each.is_balloon and not each.leaving]
    for victim in found.victims:
        before = []
        for each in in_order([p for p in people if not p.leaving and not p.is_balloon], settings):
            if each.uid == victim.uid:
                break
            before += [each] if each.uid in found.stays else []
        mine = next(each for each in people if each.uid == victim.uid)
        used = as_integers(total(each.requests for each in (*before, mine)))
        for each in floors:
            for name, amount in as_integers(each.requests).items():
                used[name] = used.get(name, 0) + min(amount, FLOOR[name])
        over = {name for name, amount in used.items() if amount > limits[name]}
        if len(before) + len(floors) + 1 > limits["pods"]:
            over.add("pods")
        assert victim.resource in over


@given(LIVES)
def test_who_stays_fits(life: Life) -> None:
    """Unless it is safe, or CPU is tolerated; then that is told."""
    people, allocatable, settings = life
    found = readmitted(people, allocatable, settings)
    if found.notes:
        return
    staying = [each for each in people if each.uid in found.stays]
    floors = {name: sum(FLOOR[name] for each in staying if each.is_balloon) for name in FLOOR}
    limits = as_integers(allocatable)
    for name, amount in held(staying, found).items():
        assert amount <= limits[name] or amount <= limits[name] + floors[name]


@given(LIVES)
def test_balloons_give_no_more_than_needed(life: Life) -> None:
    """Where one became smaller without reaching its floor, nothing is left over."""
    people, allocatable, settings = life
    found = readmitted(people, allocatable, settings)
    staying = [each for each in people if each.uid in found.stays]
    used, limits = held(staying, found), as_integers(allocatable)
    for uid, smaller in found.allocations.items():
        mine = next(each for each in people if each.uid == uid)
        for name, amount in as_integers(smaller.containers["c"].requests).items():
            was = as_integers(mine.requests)[name]
            assert min(was, FLOOR[name]) <= amount <= was
            assert amount == was or used[name] >= limits[name]
