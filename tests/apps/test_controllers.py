"""All controllers and the scheduler together, on a cluster in a dict with pods that simply come up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.fakes import FakeCluster, ManualClock

from flexlet.api import age
from flexlet.apps.controllers import workload_loops
from flexlet.ports.cluster import Ref

Object = dict[str, Any]
DEPLOYMENTS = Ref("apps", "v1", "deployments")
REVISION = "deployment.kubernetes.io/revision"


class Cluster:
    """A cluster, its time, and nodes that run whatever is bound to them."""

    def __init__(self) -> None:
        self.fake = FakeCluster()
        self.clock = ManualClock()
        for name in ("n1", "n2"):
            self.fake.put("nodes", node(name))

    async def until(self, done: Callable[[], bool]) -> None:
        """Let everything happen that happens within some seconds."""
        for _ in range(400):
            await self.tick(1)
            if done():
                return
        raise AssertionError([(key, body.get("status")) for key, body in self.fake.objects.items()])

    async def tick(self, count: int) -> None:
        """Let a twentieth of a second pass, some times."""
        for _ in range(count):
            for _ in range(15):
                await asyncio.sleep(0)
            self._run_pods()
            self.clock.advance(0.05)
        for _ in range(15):
            await asyncio.sleep(0)

    def _run_pods(self) -> None:
        now = age.format_seconds(self.clock.now())
        for pod in self.fake.all("pods"):
            ended = pod["metadata"].get("labels", {}).get("ends")
            phase = "Succeeded" if ended else "Running"
            if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") != phase:
                ready = {"type": "Ready", "status": str(not ended), "lastTransitionTime": now}
                self.fake.put("pods", {**pod, "status": {"phase": phase, "conditions": [ready]}}, "MODIFIED")

    def get(self, plural: str, name: str) -> Object:
        return self.fake.objects.get((plural, "default", name), {})

    def sizes(self) -> dict[str, int]:
        """ReplicaSets by image: how many pods of each are ready."""
        found = {}
        for rs in self.fake.all("replicasets"):
            image = rs["spec"]["template"]["spec"]["containers"][0]["image"]
            found[image] = rs.get("status", {}).get("readyReplicas", 0)
        return found

    def is_complete(self, replicas: int) -> bool:
        """What ``kubectl rollout status`` waits for."""
        d = self.get("deployments", "web")
        status = d.get("status", {})
        counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
        return counts == {replicas} and status.get("observedGeneration") == d["metadata"]["generation"]

    def reason(self, kind: str) -> str:
        conditions = self.get("deployments", "web")["status"]["conditions"]
        return next(str(one["reason"]) for one in conditions if one["type"] == kind)

    async def change(self, **spec: Any) -> None:
        await self.fake.patch(DEPLOYMENTS, "default", "web", {"spec": spec})


def node(name: str) -> Object:
    ready = {"type": "Ready", "status": "True"}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
        "status": {"conditions": [ready], "allocatable": allocatable, "capacity": allocatable},
    }


def template(image: str, **labels: str) -> Object:
    return {
        "metadata": {"labels": {"app": "web", **labels}},
        "spec": {"containers": [{"name": "c", "image": image}], "restartPolicy": "Always"},
    }


def deployment(replicas: int) -> Object:
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("x:1"),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    }


@asynccontextmanager
async def running() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in workload_loops(cluster.fake, cluster.clock)]
        yield cluster
        for task in tasks:
            task.cancel()


async def test_a_deployment_rolls_out_is_scaled_updated_and_rolled_back() -> None:
    async with running() as cluster:
        await cluster.fake.create(DEPLOYMENTS, "default", deployment(3))
        await cluster.until(lambda: cluster.is_complete(3))
        assert (cluster.sizes(), cluster.reason("Progressing")) == ({"x:1": 3}, "NewReplicaSetAvailable")
        assert {pod["spec"]["nodeName"] for pod in cluster.fake.all("pods")} == {"n1", "n2"}

        await cluster.change(replicas=5)
        await cluster.until(lambda: cluster.is_complete(5))
        assert cluster.sizes() == {"x:1": 5}

        await cluster.change(template=template("x:2"))
        await cluster.until(lambda: cluster.is_complete(5))
        assert cluster.sizes() == {"x:1": 0, "x:2": 5}
        assert cluster.get("deployments", "web")["metadata"]["annotations"] == {REVISION: "2"}

        await cluster.change(template=template("x:1"))
        await cluster.until(lambda: cluster.is_complete(5))
        assert cluster.sizes() == {"x:1": 5, "x:2": 0}
        assert cluster.get("deployments", "web")["metadata"]["annotations"] == {REVISION: "3"}
        assert len(cluster.fake.all("pods")) == 5

        await cluster.fake.delete(DEPLOYMENTS, "default", "web", {"propagationPolicy": "Background"})
        await cluster.until(lambda: not cluster.fake.all("pods") and not cluster.fake.all("replicasets"))


async def test_deleting_in_the_foreground_ends_with_the_owner() -> None:
    async with running() as cluster:
        await cluster.fake.create(DEPLOYMENTS, "default", deployment(2))
        await cluster.until(lambda: cluster.is_complete(2))
        await cluster.fake.delete(DEPLOYMENTS, "default", "web", {"propagationPolicy": "Foreground"})
        assert cluster.get("deployments", "web")
        await cluster.until(lambda: not cluster.get("deployments", "web"))
        assert (cluster.fake.all("replicasets"), cluster.fake.all("pods")) == ([], [])


async def test_deleting_with_orphans_leaves_them_running() -> None:
    """And a new Deployment of the same kind takes them over without a restart."""
    async with running() as cluster:
        await cluster.fake.create(DEPLOYMENTS, "default", deployment(2))
        await cluster.until(lambda: cluster.is_complete(2))
        names = {pod["metadata"]["name"] for pod in cluster.fake.all("pods")}
        await cluster.fake.delete(DEPLOYMENTS, "default", "web", {"propagationPolicy": "Orphan"})
        await cluster.until(lambda: not cluster.get("deployments", "web"))
        [rs] = cluster.fake.all("replicasets")
        assert "ownerReferences" not in rs["metadata"]
        await cluster.fake.create(DEPLOYMENTS, "default", deployment(2))
        await cluster.until(lambda: cluster.is_complete(2))
        assert {pod["metadata"]["name"] for pod in cluster.fake.all("pods")} == names


async def test_a_daemon_set_follows_the_nodes() -> None:
    async with running() as cluster:
        body = {
            "kind": "DaemonSet",
            "apiVersion": "apps/v1",
            "metadata": {"name": "agent"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("x:1")},
        }
        await cluster.fake.create(Ref("apps", "v1", "daemonsets"), "default", body)
        await cluster.until(lambda: cluster.get("daemonsets", "agent").get("status", {}).get("numberReady") == 2)
        cluster.fake.put("nodes", node("n3"))
        await cluster.until(lambda: cluster.get("daemonsets", "agent")["status"].get("numberReady") == 3)
        assert sorted(pod["spec"]["nodeName"] for pod in cluster.fake.all("pods")) == ["n1", "n2", "n3"]


async def test_a_job_completes_and_goes_when_its_time_is_up() -> None:
    async with running() as cluster:
        labels = {"batch.kubernetes.io/controller-uid": "uid-work"}
        body = {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {"name": "work"},
            "spec": {
                "completions": 3,
                "parallelism": 2,
                "ttlSecondsAfterFinished": 2,
                "selector": {"matchLabels": labels},
                "template": template("x:1", ends="well", **labels),
            },
        }
        await cluster.fake.create(Ref("batch", "v1", "jobs"), "default", body)
        await cluster.until(lambda: "completionTime" in cluster.get("jobs", "work").get("status", {}))
        status = cluster.get("jobs", "work")["status"]
        assert (status["succeeded"], [one["type"] for one in status["conditions"]]) == (
            3,
            ["SuccessCriteriaMet", "Complete"],
        )
        assert all(not pod["metadata"].get("finalizers") for pod in cluster.fake.all("pods"))
        await cluster.until(lambda: not cluster.get("jobs", "work"))
        assert cluster.fake.all("pods") == []


STEPS = st.one_of(
    st.tuples(st.just("scale"), st.integers(0, 6)),
    st.tuples(st.just("image"), st.integers(1, 3)),
    st.tuples(st.just("kill"), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.integers(0, 20)),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_whatever_happens_the_end_is_what_was_asked_for(steps: list[tuple[str, int]]) -> None:
    """And once it is reached, nobody writes any more."""
    asyncio.run(_live(steps))


async def _live(steps: list[tuple[str, int]]) -> None:
    replicas, image = 2, 1
    async with running() as cluster:
        await cluster.fake.create(DEPLOYMENTS, "default", deployment(replicas))
        for verb, number in steps:
            if verb == "scale":
                replicas = number
                await cluster.change(replicas=replicas)
            elif verb == "image":
                image = number
                await cluster.change(template=template(f"x:{image}"))
            elif verb == "kill" and (pods := cluster.fake.all("pods")):
                cluster.fake.drop("pods", "default", pods[number % len(pods)]["metadata"]["name"])
            elif verb == "wait":
                await cluster.tick(number)
        await cluster.tick(10)
        await cluster.until(lambda: cluster.is_complete(replicas))
        assert cluster.sizes().get(f"x:{image}", 0) == len(cluster.fake.all("pods")) == replicas
        assert cluster.reason("Progressing") == "NewReplicaSetAvailable"
        await cluster.tick(20)
        before = len(cluster.fake.log)
        await cluster.tick(200)
        assert cluster.fake.log[before:] == []
