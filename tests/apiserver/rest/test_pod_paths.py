from typing import Any

import msgspec
import pytest
from tests.apiserver.rest.world import TIME, Object, World, version

from flexlet.api import status
from flexlet.apiserver.rest.binding import Bindings
from flexlet.apiserver.rest.eviction import Evictions
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.rest.scale import Scales

BOUND = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": TIME}
CREATED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def bind(world: World, body: Object, name: str = "p") -> Object:
    answer = await Bindings(world.rest.backend).handle(
        Handled("create", world.call("pods", name, "binding"), body)
    )
    assert answer.code == 201
    decoded: Object = msgspec.json.decode(answer.value)
    return decoded


async def evict(world: World, **options: Any) -> Object:
    body: Object = {"metadata": {"name": "p"}}
    if options:
        body["deleteOptions"] = options
    call = world.call("pods", "p", "eviction")
    answer = await Evictions(world.rest.backend).handle(Handled("create", call, body))
    decoded: Object = msgspec.json.decode(answer.value)
    return decoded


def binding(node: str = "n1", **metadata: Any) -> Object:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}


async def test_binding_gives_a_pod_its_node(world: World) -> None:
    await world.pod("p", labels={"a": "1"})
    answer = await bind(world, binding(annotations={"by": "me"}, labels={"zone": "z"}))
    pod = world.get("pods", "p")
    assert answer == CREATED
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["metadata"]["annotations"] == {"by": "me"}
    assert pod["metadata"]["labels"] == {"a": "1", "zone": "z"}
    assert pod["metadata"]["generation"] == 1
    assert BOUND in pod["status"]["conditions"]


async def test_a_pod_is_bound_once(world: World) -> None:
    await world.pod("p", node="n1")
    with pytest.raises(status.Conflict) as error:
        await bind(world, binding("n2"))
    expected = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    assert str(error.value) == expected


async def test_a_binding_may_name_the_very_pod(world: World) -> None:
    pod = await world.pod("p")
    with pytest.raises(status.Conflict):
        await bind(world, binding(uid="other"))
    assert await bind(world, binding(uid=pod["metadata"]["uid"])) == CREATED


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"target": {"name": "n"}}, 400, "name in URL does not match name in Binding object"),
        ({"metadata": {"name": "p"}, "target": {}}, 500, "target.name: Required value"),
    ],
)
async def test_bindings_that_say_too_little(world: World, body: Object, code: int, message: str) -> None:
    await world.pod("p")
    with pytest.raises(status.ApiError) as error:
        await bind(world, body)
    assert (error.value.code, str(error.value)) == (code, message)


async def budget(world: World, name: str = "b", **state: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await world.create("poddisruptionbudgets", {"metadata": {"name": name}, "spec": spec})
    full = {"observedGeneration": 1, "expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1, **state}
    full.setdefault("disruptionsAllowed", 0)
    await world.patch("poddisruptionbudgets", name, {"status": full}, subresource="status")


async def running(world: World, *, ready: bool = True) -> Object:
    await world.pod("p", node="n", labels={"app": "x"})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    patch = {"status": {"phase": "Running", "conditions": conditions}}
    return await world.patch("pods", "p", patch, subresource="status")


async def test_without_a_budget_eviction_is_deletion(world: World) -> None:
    await running(world)
    assert await evict(world, gracePeriodSeconds=7) == CREATED
    pod = world.get("pods", "p")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 7
    marks = [item for item in pod["status"]["conditions"] if item["type"] == "DisruptionTarget"]
    assert [(item["status"], item["reason"]) for item in marks] == [("True", "EvictionByEvictionAPI")]


async def test_a_budget_that_allows_nothing_refuses(world: World) -> None:
    await running(world)
    await budget(world)
    with pytest.raises(status.TooManyRequests) as error:
        await evict(world)
    assert str(error.value) == "Cannot evict pod as it would violate the pod's disruption budget."
    causes = error.value.status.details.causes  # type: ignore[union-attr]
    assert [(cause.reason, cause.message) for cause in causes] == [
        ("DisruptionBudget", "The disruption budget b needs 1 healthy pods and has 1 currently")
    ]
    assert "deletionTimestamp" not in world.get("pods", "p")["metadata"]


async def test_an_allowed_eviction_uses_the_budget_up(world: World) -> None:
    await running(world)
    await budget(world, disruptionsAllowed=1)
    await evict(world)
    state = world.get("poddisruptionbudgets", "b")["status"]
    assert (state["disruptionsAllowed"], state["disruptedPods"]) == (0, {"p": TIME})


async def test_two_budgets_are_one_too_many(world: World) -> None:
    await running(world)
    await budget(world, "b1", disruptionsAllowed=1)
    await budget(world, "b2", disruptionsAllowed=1)
    with pytest.raises(status.ApiError) as error:
        await evict(world)
    assert (error.value.code, error.value.reason) == (500, "")


async def test_a_budget_that_was_not_looked_at_yet_asks_to_come_again(world: World) -> None:
    await running(world)
    await budget(world, observedGeneration=0, disruptionsAllowed=1)
    with pytest.raises(status.TooManyRequests) as error:
        await evict(world)
    assert error.value.status.details.retry_after_seconds == 10  # type: ignore[union-attr]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_pods_that_serve_nobody_go_without_asking(world: World, phase: str) -> None:
    await world.pod("p", phase=phase, labels={"app": "x"})
    await budget(world)
    assert await evict(world) == CREATED
    assert await world.names("pods") == []


async def test_an_unready_pod_goes_while_enough_others_are_healthy(world: World) -> None:
    await running(world, ready=False)
    await budget(world, currentHealthy=2, desiredHealthy=2)
    assert await evict(world) == CREATED
    assert world.get("poddisruptionbudgets", "b")["status"]["disruptionsAllowed"] == 0


async def test_eviction_honours_preconditions_and_dry_runs(world: World) -> None:
    await running(world)
    with pytest.raises(status.Conflict):
        await evict(world, preconditions={"uid": "other"})
    assert await evict(world, dryRun=["All"]) == CREATED
    assert "deletionTimestamp" not in world.get("pods", "p")["metadata"]


async def scaled(world: World, verb: str, body: Any = None) -> Object:
    patch = Patch("merge", body) if verb == "patch" else None
    request = Handled(verb, world.call("deployments", "d", "scale"), None if patch else body, patch)
    decoded: Object = msgspec.json.decode((await Scales(world.rest.backend).handle(request)).value)
    return decoded


async def test_scale_reads_and_writes_replicas(world: World) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    created = await world.create("deployments", {"metadata": {"name": "d"}, "spec": spec})
    scale = await scaled(world, "get")
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: created["metadata"][key] for key in kept},
        "spec": {"replicas": 3},
        "status": {"replicas": 0, "selector": "a=b"},
    }
    patched = await scaled(world, "patch", {"spec": {"replicas": 5}})
    assert patched["spec"] == {"replicas": 5}
    assert world.get("deployments", "d")["metadata"]["generation"] == 2
    put = await scaled(world, "update", {"metadata": {"name": "d"}, "spec": {"replicas": 1}})
    assert version(put) == version(patched) + 1
    with pytest.raises(status.Conflict):
        await scaled(world, "update", scale)
    with pytest.raises(status.Invalid):
        await scaled(world, "patch", {"spec": {"replicas": -1}})
