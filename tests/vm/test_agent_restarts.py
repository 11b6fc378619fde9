"""What a node survives: its agent killed at a bad moment, its runtime restarted, its API server out of reach.

Containers go on as they are (same runs, same counts), allocations are kept, and what is reported becomes true.
"""

import asyncio
import json
from collections.abc import Iterator

import pytest
from tests.vm.amounts import resources
from tests.vm.node import Hands, Node, Object, cgroup, container, eventually, lives, pod, run_of, runs, together
from tests.vm.resizing import is_done

from flexlet.ports.cluster import PODS

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]
NAMES = ("first", "second", "third")
BEFORE = "50m,32Mi / 500m,64Mi"
STATE = "/var/lib/kubelet/allocated_pods_state"
KILL_AGENT = "kill -9 $(cat /sys/fs/cgroup/system/agent/cgroup.procs)"
KILL_CONTAINERD = "until kill -9 $(pidof containerd) 2>/dev/null; do usleep 100000; done"
# A runc that does all but list the processes of one container.
SPOIL_RUNC = """
mv /usr/sbin/runc /usr/sbin/runc.good
printf '#!/bin/sh\ncase " $* " in *" ps "*{id}*) exit 1;; esac\nexec /usr/sbin/runc.good "$@"\n' >/usr/sbin/runc
chmod +x /usr/sbin/runc
"""


@pytest.fixture(scope="module", autouse=True)
def _pods(node: Node) -> Iterator[None]:
    """Three pods that run all the time."""
    asyncio.run(_with(node, "start"))
    yield
    asyncio.run(_with(node, "delete"))


async def _with(node: Node, deed: str) -> None:
    async with node.hands() as hands:
        if deed == "delete":
            await hands.delete(*NAMES)
        else:
            await together(*(hands.start(name, container(resources=resources(BEFORE))) for name in NAMES))


async def _resize(hands: Hands, text: str) -> None:
    wish = [{"name": "c", "resources": resources(text)}]
    await together(*(hands.resize(name, containers=wish) for name in NAMES))


async def _now(hands: Hands) -> dict[str, Object]:
    return {name: await hands.get(name) for name in NAMES}


async def _resized(hands: Hands, text: str, files: list[str]) -> dict[str, Object]:
    """Wait until all are resized, and look at kernel, status and checkpoint."""
    wanted = resources(text)
    pods = [await hands.until("it is resized", name, lambda f: is_done(f) and _shows(f, text)) for name in NAMES]
    kept = json.loads(json.loads(await hands.inside(f"cat {STATE}"))["data"])["entries"]
    for found in pods:
        assert await hands.cgroup(found, "c") == files
        assert kept[found["metadata"]["uid"]]["ContainerResources"]["c"] == wanted
    return dict(zip(NAMES, pods, strict=True))


def _shows(found: Object, text: str) -> bool:
    return bool(runs(found)["c"]["resources"] == resources(text))


def _all_lives(pods: dict[str, Object]) -> dict[str, dict[str, tuple[str, int]]]:
    return {name: lives(found) for name, found in pods.items()}


@pytest.mark.parametrize(
    ("after_s", "text", "files"),
    [
        (0.0, "60m,32Mi / 600m,96Mi", ["60000 100000", "3", str(96 << 20)]),
        (0.4, "45m,32Mi / 450m,64Mi", ["45000 100000", "2", str(64 << 20)]),
    ],
)
async def test_killed_in_the_middle_of_a_resize(hands: Hands, after_s: float, text: str, files: list[str]) -> None:
    """No other test leaves the pods at these sizes, so the end needs an agent that is back, whatever the order."""
    before = _all_lives(await _now(hands))
    await _resize(hands, text)
    await asyncio.sleep(after_s)
    await hands.inside(KILL_AGENT)
    assert _all_lives(await _resized(hands, text, files)) == before


async def test_killed_while_a_pod_starts(hands: Hands) -> None:
    """It ends with one sandbox and one run of each container."""
    others = _all_lives(await _now(hands))
    await hands.create(PODS, pod("late", container("a"), container("b")))

    async def begun() -> bool:
        uid = (await hands.get("late"))["metadata"]["uid"]
        return bool(
            await hands.inside(f"ls -d /sys/fs/cgroup/kubepods/besteffort/pod{uid}/*/ 2>/dev/null || true")
        )

    await eventually(begun)
    await hands.inside(KILL_AGENT)
    found = await hands.ready("late")
    assert await hands.inside(f"ls -d {cgroup(found)}/*/ | wc -l") == "3"
    # A start that was cut off counts as one, no more than that.
    assert {each["restartCount"] for each in runs(found).values()} <= {0, 1}
    assert _all_lives(await _now(hands)) == others
    await hands.delete("late")


async def test_containerd_restarted(hands: Hands) -> None:
    """Containers do not notice, and the node goes on with the new one."""
    before = _all_lives(await _now(hands))
    await hands.inside(KILL_CONTAINERD)
    text = "70m,32Mi / 700m,64Mi"
    await _resize(hands, text)
    assert _all_lives(await _resized(hands, text, ["70000 100000", "3", str(64 << 20)])) == before
    found = await hands.start("new")
    assert runs(found)["c"]["restartCount"] == 0
    await hands.delete("new")


async def test_containerd_killed_again_and_again(hands: Hands) -> None:
    """Also while it still asks its shims what runs."""
    before = _all_lives(await _now(hands))
    for pause_s, text in ((0.0, "60m,32Mi / 600m,64Mi"), (3.0, BEFORE), (6.0, "75m,32Mi / 750m,64Mi")):
        await hands.inside(KILL_CONTAINERD)
        await _resize(hands, text)
        await asyncio.sleep(pause_s)
    await hands.inside(KILL_CONTAINERD)
    assert _all_lives(await _resized(hands, text, ["75000 100000", "3", str(64 << 20)])) == before


async def test_containerd_loses_a_sandbox(hands: Hands) -> None:
    """Who runs in it goes on and is resized, and it is as good as new when it is found again."""
    before = await _now(hands)
    first = before["first"]
    names = await hands.inside(f"cd {cgroup(first)} && ls -d */")
    [sandbox] = {name.rstrip("/") for name in names.split()} - {run_of(first, "c")}
    await _lose(hands, sandbox)
    text = "65m,32Mi / 650m,64Mi"
    await _resize(hands, text)
    files = ["65000 100000", "3", str(64 << 20)]
    assert _all_lives(await _resized(hands, text, files)) == _all_lives(before)
    await hands.inside(KILL_CONTAINERD)
    await eventually(lambda: _has_task(hands, sandbox))
    await _resize(hands, BEFORE)
    files = ["50000 100000", "2", str(64 << 20)]
    assert _all_lives(await _resized(hands, BEFORE, files)) == _all_lives(before)


async def test_containerd_loses_a_container(hands: Hands) -> None:
    """Nobody can do anything with it any more, so there is another one; but never both."""
    before = await hands.start("lost")
    await _lose(hands, run_of(before, "c"))
    after = await hands.until("it runs anew", "lost", lambda found: runs(found)["c"]["restartCount"] == 1)
    left = await hands.inside(f"cat {cgroup(before, 'c')}/cgroup.procs 2>/dev/null || true")
    assert (left, run_of(after, "c") != run_of(before, "c")) == ("", True)
    await hands.delete("lost")


async def _lose(hands: Hands, identity: str) -> None:
    """Start containerd again while a shim cannot say what runs in it: containerd/containerd#13784."""
    await hands.inside(SPOIL_RUNC.format(id=identity))
    try:
        await hands.inside(KILL_CONTAINERD)
        said = f"cleaning leaked shim process.*{identity}"
        await eventually(lambda: hands.inside(f'grep "{said}" /var/log/containerd.log || true'))
    finally:
        await hands.inside("mv /usr/sbin/runc.good /usr/sbin/runc")


async def _has_task(hands: Hands, identity: str) -> bool:
    """Whether containerd knows the process of a sandbox or a container."""
    return bool(await hands.inside(f"ctr -n k8s.io tasks ls | grep {identity} || true"))


async def test_api_server_out_of_reach(hands: Hands) -> None:
    """Meanwhile the node looks after its pods; afterwards it tells, and does what it was asked."""
    before = await _now(hands)
    rule = "OUTPUT -d 10.0.2.2 -p tcp -j REJECT --reject-with tcp-reset"
    await hands.inside(f"iptables -w -I {rule}")
    try:
        first = cgroup(before["first"], "c")
        text = "80m,32Mi / 800m,64Mi"
        await _resize(hands, text)
        await hands.inside(f"echo 1 >{first}/cgroup.kill")
        pod_group = cgroup(before["first"])

        async def restarted() -> bool:
            groups = await hands.inside(f"cd {pod_group} && grep -l . */cgroup.procs || true")
            return len(groups.split()) == 2 and first.rpartition("/")[2] not in groups

        await eventually(restarted)
        assert _all_lives(await _now(hands)) == _all_lives(before)
    finally:
        await hands.inside(f"iptables -w -D {rule}")
    now = await _resized(hands, text, ["80000 100000", "4", str(64 << 20)])
    assert [runs(found)["c"]["restartCount"] for found in now.values()] == [1, 0, 0]
    for name in ("second", "third"):
        assert lives(now[name]) == lives(before[name])
