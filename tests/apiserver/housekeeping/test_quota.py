"""The status of quotas follows what is in their namespace."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from tests.apiserver.housekeeping.memorycluster import settle
from tests.apiserver.housekeeping.quotacluster import Body, Clock, FakeCluster

from flexlet.api import status
from flexlet.apiserver.housekeeping.quota import QUOTAS, RESYNC_S, QuotaKeeper
from flexlet.core.quota.claim import Counting
from flexlet.ports.cluster import PODS, Ref

SECRETS = Ref("", "v1", "secrets")
SERVICES = Ref("", "v1", "services")
WIDGETS = Ref("example.com", "v1", "widgets")


@contextlib.asynccontextmanager
async def kept(cluster: FakeCluster, resources: Callable[[], Sequence[Ref]] | None = None) -> AsyncIterator[Clock]:
    """A keeper at work on the cluster."""
    clock = Clock(1_700_000_000.0)
    served = resources or (lambda: (PODS, SECRETS, SERVICES))
    keeper = QuotaKeeper(cluster, clock, served, Counting())  # type: ignore[arg-type]
    task = asyncio.create_task(keeper.run())
    await settle()
    try:
        yield clock
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def quota(name: str = "q", **hard: str) -> Body:
    return {"metadata": {"name": name}, "spec": {"hard": hard}}


def pod(name: str, cpu: str = "1", **rest: Any) -> Body:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}, **rest}


async def test_a_new_quota_comes_into_force_at_once() -> None:
    cluster = FakeCluster()
    cluster.put(PODS, pod("p", "1500m"))
    cluster.put(SECRETS, {"metadata": {"name": "s"}})
    cluster.put(SERVICES, {"metadata": {"name": "v"}, "spec": {"type": "NodePort", "ports": [{}]}})
    hard = {"pods": "5", "cpu": "4", "secrets": "3", "services.nodeports": "2", "persistentvolumeclaims": "1"}
    async with kept(cluster):
        cluster.put(QUOTAS, quota(**hard))
        await settle()
        assert cluster.objects[QUOTAS, "ns", "q"]["status"] == {
            "hard": hard,
            "used": {
                "pods": "1",
                "cpu": "1500m",
                "secrets": "1",
                "services.nodeports": "1",
                "persistentvolumeclaims": "0",
            },
        }


async def test_a_changed_spec_comes_into_force() -> None:
    cluster = FakeCluster()
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        stored = cluster.objects[QUOTAS, "ns", "q"]
        cluster.put(QUOTAS, {**stored, "spec": {"hard": {"cpu": "9"}}})
        await clock.pass_(1)
        assert cluster.objects[QUOTAS, "ns", "q"]["status"] == {"hard": {"cpu": "9"}, "used": {"cpu": "0"}}


@pytest.mark.parametrize(
    ("change", "cpu"),
    [
        (lambda cluster: cluster.remove(PODS, "p"), "1"),
        (lambda cluster: cluster.put(PODS, pod("p", status={"phase": "Succeeded"})), "1"),
        (lambda cluster: cluster.put(PODS, pod("p", "500m")), "1500m"),
    ],
    ids=["deleted", "finished", "shrunk"],
)
async def test_usage_goes_down_with_the_pods(change: Any, cpu: str) -> None:
    cluster = FakeCluster()
    cluster.put(PODS, pod("p"))
    cluster.put(PODS, pod("other"))
    cluster.put(QUOTAS, quota(cpu="5"))
    async with kept(cluster) as clock:
        assert cluster.used() == {"cpu": "2"}
        change(cluster)
        await clock.pass_(1)
        assert cluster.used() == {"cpu": cpu}


async def test_other_counted_objects_are_followed_too() -> None:
    """Once some quota names them, and not before."""
    cluster = FakeCluster()
    cluster.put(SECRETS, {"metadata": {"name": "s"}})
    async with kept(cluster) as clock:
        assert [ref for ref, _ in cluster.watchers] == [QUOTAS]
        cluster.put(QUOTAS, quota(secrets="5"))
        await clock.pass_(1)
        assert ([ref for ref, _ in cluster.watchers], cluster.used()) == ([QUOTAS, SECRETS], {"secrets": "1"})
        cluster.remove(SECRETS, "s")
        await clock.pass_(1)
        assert cluster.used() == {"secrets": "0"}


async def test_custom_resources_count_once_they_are_served() -> None:
    cluster = FakeCluster()
    served = [PODS]
    cluster.put(WIDGETS, {"metadata": {"name": "w"}})
    cluster.put(QUOTAS, quota(**{"count/widgets.example.com": "5"}))
    async with kept(cluster, lambda: served) as clock:
        assert cluster.used() is None
        served.append(WIDGETS)
        await clock.pass_(RESYNC_S + 1)
        assert cluster.used() == {"count/widgets.example.com": "1"}


async def test_a_charge_made_meanwhile_is_not_lost() -> None:
    """The write is refused because the quota changed, and usage is counted again."""
    cluster = FakeCluster()
    for name in ("p", "gone"):
        cluster.put(PODS, pod(name))
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:

        def create_first() -> None:
            cluster.before_update = lambda: None
            stored = cluster.objects[QUOTAS, "ns", "q"]
            charged = {**stored, "status": {"hard": {"pods": "5"}, "used": {"pods": "2"}}}
            cluster.put(QUOTAS, charged)
            cluster.put(PODS, pod("late"))

        cluster.before_update = create_first
        cluster.remove(PODS, "gone")
        await clock.pass_(2)
        assert cluster.used() == {"pods": "2"}


async def test_what_is_created_is_left_to_admission() -> None:
    """A charge for something that is not stored yet must not be counted away when something else is stored."""
    cluster = FakeCluster()
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        stored = cluster.objects[QUOTAS, "ns", "q"]
        cluster.put(QUOTAS, {**stored, "status": {"hard": {"pods": "5"}, "used": {"pods": "2"}}})
        cluster.put(PODS, pod("p"))
        await clock.pass_(2)
        assert cluster.used() == {"pods": "2"}


async def test_what_happens_elsewhere_costs_nothing() -> None:
    """Neither pods in namespaces without a quota nor a count that stays the same cause a write."""
    cluster = FakeCluster()
    cluster.put(PODS, pod("p"))
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        await clock.pass_(1)
        cluster.lists.clear()
        cluster.put(PODS, pod("far"), "elsewhere")
        await clock.pass_(1)
        assert cluster.lists == []
        cluster.put(PODS, pod("p", status={"phase": "Running"}))
        await clock.pass_(1)
        assert (cluster.lists, len(cluster.updates)) == ([(QUOTAS, "ns"), (PODS, "ns")], 1)


async def test_a_storm_of_changes_is_counted_a_few_times_only() -> None:
    cluster = FakeCluster()
    cluster.put(QUOTAS, quota(pods="500"))
    for index in range(300):
        cluster.put(PODS, pod(f"p{index}"))
    async with kept(cluster) as clock:
        assert cluster.used() == {"pods": "300"}
        cluster.lists.clear()
        for index in range(300):
            cluster.remove(PODS, f"p{index}")
            await asyncio.sleep(0)
        await clock.pass_(1)
        assert cluster.used() == {"pods": "0"}
        assert len(cluster.lists) <= 6


async def test_pods_that_should_have_ended_stop_counting_with_time() -> None:
    cluster = FakeCluster()
    stuck = pod("p")
    stuck["metadata"] |= {"deletionTimestamp": "2023-11-14T22:13:30Z", "deletionGracePeriodSeconds": 10}
    cluster.put(PODS, stuck)
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        assert cluster.used() == {"pods": "1"}
        await clock.pass_(RESYNC_S + 1)
        assert cluster.used() == {"pods": "0"}


async def test_a_lost_watch_is_taken_up_again() -> None:
    cluster = FakeCluster()
    cluster.put(PODS, pod("p"))
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        await clock.pass_(1)
        cluster.break_watches(PODS)
        await settle()
        cluster.put(PODS, pod("missed"))
        await clock.pass_(2)
        assert cluster.used() == {"pods": "2"}


async def test_a_fault_is_tried_again() -> None:
    cluster = FakeCluster()
    cluster.put(PODS, pod("p"))
    cluster.put(QUOTAS, quota(pods="5"))
    async with kept(cluster) as clock:
        await clock.pass_(1)
        cluster.faults.append(status.failure(500, "InternalError", "disk full"))
        cluster.remove(PODS, "p")
        await settle()
        assert cluster.used() == {"pods": "1"}
        await clock.pass_(2)
        assert cluster.used() == {"pods": "0"}


async def test_a_quota_that_goes_meanwhile_is_no_fault() -> None:
    cluster = FakeCluster()
    async with kept(cluster) as clock:
        cluster.before_update = lambda: cluster.remove(QUOTAS, "q") if cluster.objects else None
        cluster.put(QUOTAS, quota(pods="5"))
        await clock.pass_(1)
        cluster.lists.clear()
        await clock.pass_(RESYNC_S + 1)
        assert (cluster.objects, cluster.lists) == ({}, [])
