"""Aggregated roles follow the roles they gather from."""

import asyncio
import contextlib
from typing import Any

from tests.apiserver.housekeeping.memorycluster import MemoryCluster, settle
from tests.engine.fakes import FakeClock

from flexlet.apiserver.housekeeping.clusterroles import CLUSTER_ROLES, aggregate

READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
WRITE = {"verbs": ["update"], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *rules: Any, label: str = "", gathers: str = "") -> Any:
    built: Any = {"metadata": {"name": name, "labels": {label: "1"} if label else {}}, "rules": list(rules)}
    if gathers:
        built["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {gathers: "1"}}]}
    return built


def rules_in(cluster: MemoryCluster) -> dict[str, Any]:
    return {name: obj["rules"] for name, obj in cluster.by_key("clusterroles").items()}


async def test_rules_are_gathered_followed_and_taken_away_through_several_roles() -> None:
    """A chain of aggregated roles settles after a change at its start."""
    cluster = MemoryCluster()
    cluster.put("clusterroles", role("admin", gathers="b"))
    cluster.put("clusterroles", role("edit", label="b", gathers="a"))
    cluster.put("clusterroles", role("part", READ, label="a"))
    task = asyncio.create_task(aggregate(cluster, FakeClock()))
    await settle()
    assert rules_in(cluster) == {"admin": [READ], "edit": [READ], "part": [READ]}
    cluster.put("clusterroles", role("more", WRITE, label="a"))
    await settle()
    assert rules_in(cluster) == {"admin": [WRITE, READ], "edit": [WRITE, READ], "part": [READ], "more": [WRITE]}
    await cluster.delete(CLUSTER_ROLES, "", "part")
    await settle()
    assert rules_in(cluster) == {"admin": [WRITE], "edit": [WRITE], "more": [WRITE]}
    written = list(cluster.writes)
    cluster.end_watches()
    await settle()
    assert cluster.writes == written
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
