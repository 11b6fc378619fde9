"""Resizes in place on a real kernel and a real runtime: the cases of the upstream end-to-end suites, chosen.

The tables have the plain ones, a line each; those that need more than a size follow.
"""

import pytest
from tests.vm.amounts import resources
from tests.vm.node import (
    NAME,
    NAMESPACE,
    Hands,
    Object,
    condition,
    container,
    eventually,
    lives,
    pod,
    runs,
    together,
)
from tests.vm.resizing import Step, Story, is_done, walk

from flexlet.api.quantity import Quantity
from flexlet.api.status import ApiError
from flexlet.ports.cluster import NODES, PODS

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]

# Limits of CPU are not small: what starts a container runs within them, on an emulated CPU.
PLAIN = (
    Story(
        name="guaranteed",
        sizes={"c": "700m,32Mi / 700m,32Mi"},
        steps=(
            Step("cpu", {"c": "900m,32Mi / 900m,32Mi"}),
            Step("memory", {"c": "900m,48Mi / 900m,48Mi"}),
            Step("same direction", {"c": "700m,32Mi / 700m,32Mi"}),
            Step("opposite", {"c": "900m,24Mi / 900m,24Mi"}),
            Step("back", {"c": "700m,32Mi / 700m,32Mi"}),
        ),
    ),
    Story(
        name="burstable",
        sizes={"c": "50m,32Mi / 1,64Mi"},
        steps=(
            Step("cpu request", {"c": "80m,32Mi / 1,64Mi"}),
            Step("cpu limit", {"c": "80m,32Mi / 1500m,64Mi"}),
            Step("memory request", {"c": "80m,48Mi / 1500m,64Mi"}),
            Step("memory limit", {"c": "80m,48Mi / 1500m,96Mi"}),
            Step("same direction", {"c": "50m,32Mi / 1,64Mi"}),
            Step("requests and limits opposite", {"c": "30m,24Mi / 1500m,96Mi"}),
            Step("cpu and memory opposite", {"c": "80m,16Mi / 1600m,64Mi"}),
        ),
    ),
    Story(
        name="memory-restarts",
        sizes={"c": "700m,32Mi / 700m,32Mi"},
        restart_on={"c": ("memory",)},
        steps=(
            Step("cpu", {"c": "900m,32Mi / 900m,32Mi"}),
            Step("memory", {"c": "900m,48Mi / 900m,48Mi"}, restarts=("c",)),
            Step("both", {"c": "700m,32Mi / 700m,32Mi"}, restarts=("c",)),
        ),
    ),
    Story(
        name="cpu-restarts",
        sizes={"c": "50m,32Mi / 1,64Mi"},
        restart_on={"c": ("cpu",)},
        steps=(
            Step("memory", {"c": "50m,48Mi / 1,96Mi"}),
            Step("cpu request", {"c": "80m,48Mi / 1,96Mi"}, restarts=("c",)),
        ),
    ),
)
SEVERAL = (
    Story(
        name="three",
        sizes={"+a": "100m,48Mi / 500m,48Mi", "b": "100m,48Mi / 500m,48Mi", "c": "100m,48Mi / 500m,48Mi"},
        steps=(
            Step(
                "net increase",
                {"+a": "180m,96Mi / 800m,96Mi", "b": "130m,64Mi / 600m,64Mi", "c": "80m,32Mi / 400m,32Mi"},
            ),
            Step(
                "net decrease",
                {"+a": "100m,48Mi / 500m,48Mi", "b": "150m,80Mi / 700m,80Mi", "c": "50m,24Mi / 300m,24Mi"},
            ),
            Step("mixed", {"+a": "130m,32Mi / 600m,32Mi", "c": "40m,64Mi / 200m,64Mi"}),
        ),
    ),
    Story(
        name="six",
        sizes={"a": "10m", "b": "10m / 1", "c": "10m / 1", "d": ",16Mi", "e": ",16Mi / ,32Mi", "f": ""},
        steps=(
            Step(
                "limits and requests added",
                {
                    "a": "10m / 1",
                    "b": "10m,16Mi / 1",
                    "c": "10m,16Mi / 1,32Mi",
                    "d": ",16Mi / ,32Mi",
                    "e": "10m,16Mi / ,32Mi",
                    "f": "10m,16Mi / 1,32Mi",
                },
            ),
        ),
    ),
)
POD_LEVEL = (
    Story(
        name="level-inherited",
        sizes={"a": "50m,32Mi / 500m,64Mi", "b": ""},
        level="100m,128Mi / 1,256Mi",
        steps=(
            Step("pod cpu", level="150m,128Mi / 1500m,256Mi"),
            Step("pod memory", level="150m,160Mi / 1500m,320Mi"),
            Step("pod request", level="200m,160Mi / 1500m,320Mi"),
            Step("containers", {"a": "60m,48Mi / 600m,56Mi"}),
            Step("both levels, opposite", {"a": "50m,32Mi / 500m,64Mi"}, level="100m,160Mi / 1,352Mi"),
        ),
    ),
    Story(
        name="level-guaranteed",
        sizes={"a": "", "b": ""},
        level="800m,128Mi / 800m,128Mi",
        steps=(
            Step("same direction", level="900m,160Mi / 900m,160Mi"),
            Step("opposite", level="1,96Mi / 1,96Mi"),
        ),
    ),
    Story(
        name="level-restarts",
        sizes={"a": "20m,16Mi", "b": "20m,16Mi / 500m,64Mi"},
        level="100m,64Mi / 1,128Mi",
        restart_on={"a": ("memory",), "b": ("memory",)},
        steps=(
            Step("cpu", level="100m,64Mi / 1500m,128Mi"),
            Step("memory", level="100m,64Mi / 1500m,160Mi", restarts=("a",)),
        ),
    ),
    Story(
        name="level-half-inherited",
        sizes={"a": "50m / 500m"},
        level="100m,64Mi / 800m,128Mi",
        shown={"a": "50m / 500m,128Mi"},
        steps=(Step("cpu", level="100m,64Mi / 1,128Mi"),),
    ),
    Story(
        name="level-added",
        sizes={"a": "20m,16Mi", "b": "20m,16Mi"},
        steps=(Step("added", level="60m,64Mi / 1,128Mi"), Step("raised", level="60m,64Mi / 1500m,160Mi")),
    ),
)


@pytest.mark.parametrize("stories", [PLAIN, SEVERAL, POD_LEVEL], ids=["plain", "several", "pod-level"])
async def test_from_size_to_size(hands: Hands, stories: tuple[Story, ...]) -> None:
    """Kernel, status, restarts and events are what the spec asks for after each step, and nothing else is."""
    await together(*(walk(hands, story) for story in stories))


async def test_memory_in_use_is_not_taken(hands: Hands) -> None:
    """A limit below what is in use is an error that leaves the kernel alone; going back ends it."""
    fill = "dd if=/dev/zero of=/fast/file bs=1M count=30 2>/dev/null; trap 'exit 0' TERM; sleep 1000000 & wait"
    busy = container(
        script=fill,
        resources=resources("20m,16Mi / 1,64Mi"),
        volumeMounts=[{"name": "fast", "mountPath": "/fast"}],
    )
    await hands.create(PODS, pod("busy", busy, volumes=[{"name": "fast", "emptyDir": {"medium": "Memory"}}]))
    first = await hands.ready("busy")
    files = await hands.cgroup(first, "c")

    async def filled() -> bool:
        return (
            int(await hands.inside(f"cat /sys/fs/cgroup/kubepods/burstable/pod*{_uid(first)}/memory.current"))
            > 30 << 20
        )

    await eventually(filled)
    await hands.resize("busy", containers=[{"name": "c", "resources": resources("20m,16Mi / 1,20Mi")}])
    now = await hands.until("it fails", "busy", lambda found: "below current usage" in _message(found))
    assert (condition(now, "PodResizePending"), await hands.cgroup(now, "c")) == ("", files)
    assert "(20971520) below current usage (" in _message(now)
    assert runs(now)["c"]["resources"] == resources("20m,16Mi / 1,64Mi")
    await hands.resize("busy", containers=[{"name": "c", "resources": resources("20m,16Mi / 1,64Mi")}])
    now = await hands.until("it is taken back", "busy", is_done)
    assert (lives(now), await hands.cgroup(now, "c")) == (lives(first), files)
    await hands.delete("busy")


def _uid(found: Object) -> str:
    return str(found["metadata"]["uid"])


def _message(found: Object) -> str:
    conditions = found["status"]["conditions"]
    return next((each["message"] for each in conditions if each["type"] == "PodResizeInProgress"), "")


async def test_an_init_container_while_it_runs(hands: Hands) -> None:
    """It is resized as the others are, though the pod does not run yet."""
    waiting = container(
        "first",
        "until [ -e /shared/go ]; do sleep 1; done",
        resources=resources("30m,32Mi / 600m,64Mi"),
        volumeMounts=[{"name": "shared", "mountPath": "/shared"}],
    )
    spec = {"initContainers": [waiting], "volumes": [{"name": "shared", "emptyDir": {}}]}
    regular = container(resources=resources("30m,32Mi / 600m,64Mi"))
    await hands.create(PODS, pod("early", regular, **spec))
    found = await hands.until(
        "it runs", "early", lambda found: "running" in runs(found).get("first", {}).get("state", {})
    )
    for text, files in (
        ("50m,32Mi / 1,96Mi", ["100000 100000", "2", str(96 << 20)]),
        ("30m,32Mi / 600m,64Mi", ["60000 100000", "2", str(64 << 20)]),
    ):
        await hands.resize("early", initContainers=[{"name": "first", "resources": resources(text)}])
        found = await hands.until(
            "its status shows it",
            "early",
            lambda found, text=text: runs(found)["first"].get("resources") == resources(text),  # type: ignore[misc]
        )
        assert await hands.cgroup(found, "first") == files
        assert runs(found)["first"]["restartCount"] == 0
    place = f"/var/lib/kubelet/pods/{_uid(found)}/volumes/kubernetes.io~empty-dir/shared/go"
    await hands.inside(f"touch {place}")
    await hands.ready("early")
    await hands.delete("early")


async def test_what_has_no_room_waits_and_what_never_has_is_refused(hands: Hands) -> None:
    """Deferred until a neighbour goes; more than the node has is forbidden at once."""
    node = await hands.get(NAME, NODES)
    have = Quantity.parse(node["status"]["allocatable"]["cpu"]).milli
    large = container(resources=resources(f"{have - 300}m,32Mi"))
    small = container(resources=resources("100m,32Mi / ,64Mi"))
    await together(hands.start("neighbour", large), hands.start("waits", small))
    wish = [{"name": "c", "resources": resources("500m,32Mi / ,64Mi")}]
    first = await hands.resize("waits", containers=wish)
    found = await hands.until("it waits", "waits", lambda found: condition(found, "PodResizePending") == "True")
    pending = next(each for each in found["status"]["conditions"] if each["type"] == "PodResizePending")
    assert (pending["reason"], pending["observedGeneration"]) == ("Deferred", first["metadata"]["generation"])
    assert runs(found)["c"]["allocatedResources"] == {"cpu": "100m", "memory": "32Mi"}
    before = lives(found)
    await hands.delete("neighbour")
    found = await hands.until("it has room", "waits", is_done)
    assert (lives(found), runs(found)["c"]["allocatedResources"]) == (before, {"cpu": "500m", "memory": "32Mi"})
    assert (await hands.cgroup(found, "c"))[1] == "20"

    async def told() -> bool:
        return await hands.resize_events(found) == {"ResizeDeferred": 1, "ResizeStarted": 1, "ResizeCompleted": 1}

    await eventually(told)
    with pytest.raises(ApiError, match="node didn't have enough allocatable resources: cpu") as refused:
        await hands.resize("waits", containers=[{"name": "c", "resources": {"requests": {"cpu": "9"}}}])
    assert refused.value.status.code == 403
    await hands.delete("waits")


async def test_the_whole_pod_replaced(hands: Hands) -> None:
    """PUT of the subresource does what PATCH does, counts one generation, and shows the pod."""
    found = await hands.start("put", container(resources=resources("30m,32Mi / 600m,64Mi")))
    found["spec"]["containers"][0]["resources"] = resources("40m,32Mi / 800m,64Mi")
    await hands.api.update(PODS, NAMESPACE, "put", found, subresource="resize")
    now = await hands.until(
        "it is done", "put", lambda found: found["metadata"]["generation"] == 2 and is_done(found)
    )
    assert (await hands.cgroup(now, "c"), runs(now)["c"]["resources"]) == (
        ["80000 100000", "2", str(64 << 20)],
        resources("40m,32Mi / 800m,64Mi"),
    )
    await hands.delete("put")


async def test_less_than_the_kernel_knows(hands: Hands) -> None:
    """Requests below 2m and limits below 10m are all the same to the kernel, and still reported as asked."""
    first = await hands.start("tiny", container(resources=resources("20m,16Mi / 500m,64Mi")))
    for text in ("2m,16Mi / 10m,64Mi", "1m,16Mi / 5m,64Mi"):
        await hands.resize("tiny", containers=[{"name": "c", "resources": resources(text)}])
        now = await hands.until("it is done", "tiny", is_done)
        assert (await hands.cgroup(now, "c"), await hands.cgroup(now)) == (
            2 * (["1000 100000", "1", str(64 << 20)],)
        )
        assert (runs(now)["c"]["resources"], lives(now)) == (resources(text), lives(first))
    await hands.resize("tiny", containers=[{"name": "c", "resources": resources("20m,16Mi / 1,64Mi")}])
    await hands.until("it is done", "tiny", is_done)
    await hands.delete("tiny")
