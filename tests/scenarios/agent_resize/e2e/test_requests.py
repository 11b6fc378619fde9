"""Resizes as requests: replaced instead of patched, refused, of an init container, below what is in use."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, amounts, condition, is_ready, is_resized, world

from flexlet.api.status import ApiError
from flexlet.ports.cluster import PODS
from flexlet.testing import run

Json = dict[str, Any]

BURSTABLE = amounts("100m,64Mi", "200m,128Mi")
EQUAL = amounts("100m,64Mi", "100m,64Mi")


def test_a_pod_can_be_replaced_by_one_of_another_size(tmp_path: Path) -> None:
    """PUT does what PATCH does, and both ways of reading show it."""

    async def story() -> tuple[Json, Json]:
        async with world(tmp_path) as there:
            await there.create("p", {"c": BURSTABLE})
            pod = await there.until("p", is_ready)
            pod["spec"]["containers"][0]["resources"] = amounts("150m,96Mi", "300m,192Mi")
            await there.cluster.cluster.update(PODS, "default", "p", pod, subresource="resize")
            return await there.until("p", is_resized), there.node.pod_cgroups(pod["metadata"]["uid"])

    pod, cgroups = run(story())
    assert pod["metadata"]["generation"] == pod["status"]["observedGeneration"] == 2
    assert pod["status"]["containerStatuses"][0]["resources"] == amounts("150m,96Mi", "300m,192Mi")
    assert cgroups["c"]["memory.max"] == cgroups["."]["memory.max"] == str(192 << 20)


def first(resources: Json | None = None, **more: Any) -> Json:
    return {"name": "c", **({"resources": resources} if resources is not None else {}), **more}


REFUSED: dict[str, tuple[Json, list[Json], str]] = {
    "BestEffort: memory": ({}, [first(amounts(",64Mi"))], "Pod QOS Class may not change"),
    "BestEffort: cpu": ({}, [first(amounts("100m,"))], "Pod QOS Class may not change"),
    "Guaranteed: limits removed": (
        EQUAL,
        [first({"requests": EQUAL["requests"]})],
        "resource limits cannot be removed",
    ),
    "Burstable: limits removed": (
        BURSTABLE,
        [first({"requests": BURSTABLE["requests"]})],
        "resource limits cannot be removed",
    ),
    "Burstable: memory request removed": (
        amounts("100m,64Mi"),
        [first(amounts("100m,"))],
        "resource requests cannot be removed",
    ),
    "Burstable: cpu request removed": (
        amounts("100m,64Mi"),
        [first(amounts(",64Mi"))],
        "resource requests cannot be removed",
    ),
    "reordered": (BURSTABLE, [{"name": "d"}, first()], "containers may not be renamed or reordered on resize"),
    "renamed": (BURSTABLE, [{"name": "x"}, {"name": "d"}], "containers may not be renamed or reordered on resize"),
    "requests equal to limits": (
        BURSTABLE,
        [first(amounts("200m,128Mi", "200m,128Mi"))],
        "QOS Class may not change",
    ),
    "ephemeral storage": (
        BURSTABLE,
        [first({**BURSTABLE, "requests": {**BURSTABLE["requests"], "ephemeral-storage": "1Gi"}})],
        "only cpu and memory resources are mutable",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name: str, tmp_path: Path) -> None:
    """The server says why, and nobody on the node notices."""
    resources, containers, text = REFUSED[name]

    async def story() -> tuple[str, int, Json, Json]:
        async with world(tmp_path) as there:
            uid = await there.create("p", {"c": resources, **({"d": {}} if len(containers) > 1 else {})})
            pod = await there.until("p", is_ready)
            before = there.picture(uid, pod["status"])
            known = {each["name"]: each for each in pod["spec"]["containers"]}
            pod["spec"]["containers"] = [known.get(each["name"], known["c"]) | each for each in containers]
            with pytest.raises(ApiError) as refused:
                await there.cluster.cluster.update(PODS, "default", "p", pod, subresource="resize")
            await asyncio.sleep(5)
            found = await there.cluster.pod("p")
            return str(refused.value), refused.value.code, before, there.picture(uid, found["status"])

    said, code, before, after = run(story())
    assert text in said
    assert code == 422
    assert after == before


@pytest.mark.parametrize("level", [False, True], ids=["container", "pod"])
def test_a_limit_below_what_is_in_use(tmp_path: Path, level: bool) -> None:
    """What still fits is done, what would kill waits with an error that says why, and asking for more ends it."""

    async def story() -> list[Json]:
        async with world(tmp_path) as there:
            around = {"resources": amounts("20m,20Mi", "100m,35Mi")} if level else {}
            await there.create("p", {"c": {} if level else amounts("20m,20Mi", "100m,35Mi")}, **around)
            pod = await there.until("p", is_ready)
            uid = pod["metadata"]["uid"]
            there.node.sim.kernel.machine.processes[there.node.containers(uid)["c"].pid].anon = 5 << 20
            seen = [await resized(there, "30Mi"), await resized(there, "10Ki"), await resized(there, "35Mi")]
            return [*seen, there.node.pod_cgroups(uid)]

    async def resized(there: World, limit: str) -> Json:
        request = {"cpu": "20m", "memory": "20Mi" if limit.endswith("Mi") else limit}
        wish = {"requests": request, "limits": {"cpu": "100m", "memory": limit}}
        spec = {"resources": wish} if level else {"containers": [{"name": "c", "resources": wish}]}
        await there.cluster.resize("p", {"spec": spec})
        if limit != "10Ki":
            return await there.until("p", is_resized)
        return await there.until("p", lambda pod: pod is not None and bool(condition(pod, "PodResizeInProgress")))

    less, too_little, again, cgroups = run(story())
    assert condition(less, "PodResizeInProgress") == {}
    failed = condition(too_little, "PodResizeInProgress")
    assert failed["reason"] == "Error"
    assert "memory limit (10240) below current usage (5242880)" in failed["message"]
    assert condition(too_little, "PodResizePending") == {}
    assert again["status"]["observedGeneration"] == 4
    assert cgroups["c"]["memory.max"] == cgroups["."]["memory.max"] == str(35 << 20)


def test_an_init_container_is_resized_while_it_runs(tmp_path: Path) -> None:
    """There and back, without a restart; then the pod goes on."""

    async def story() -> list[Json]:
        async with world(tmp_path) as there:
            init = {"name": "i", "image": "busybox:1", "command": ["sleep", "60"], "resources": BURSTABLE}
            uid = await there.create("p", {"c": BURSTABLE}, initContainers=[init])
            await there.until("p", runs)
            seen = []
            for wish in (amounts("150m,96Mi", "300m,192Mi"), BURSTABLE):
                await there.cluster.resize("p", {"spec": {"initContainers": [{"name": "i", "resources": wish}]}})
                pod = await there.until("p", seen_of(wish))
                seen.append(
                    pod["status"]["initContainerStatuses"][0] | {"cgroup": there.node.pod_cgroups(uid)["i"]}
                )
            return [*seen, await there.until("p", is_ready)]

    def runs(pod: Json | None) -> bool:
        found = [] if pod is None else pod["status"].get("initContainerStatuses", [])
        return bool(found) and "running" in found[0]["state"]

    def seen_of(wish: Json) -> Any:
        def shows(pod: Json | None) -> bool:
            return pod is not None and pod["status"]["initContainerStatuses"][0].get("resources") == wish

        return shows

    grown, back, pod = run(story())
    assert (grown["cgroup"]["memory.max"], grown["cgroup"]["cpu.max"]) == (str(192 << 20), "30000 100000")
    assert (back["cgroup"]["memory.max"], back["cgroup"]["cpu.max"]) == (str(128 << 20), "20000 100000")
    assert grown["restartCount"] == back["restartCount"] == 0
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
