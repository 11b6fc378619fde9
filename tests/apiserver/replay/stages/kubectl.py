"""kubectl.jsonl: a running and an idle pod, a node, workloads whose controllers' answers are put there."""

from tests.apiserver.replay.stage import Body, Stage, World, as_recorded, status_of

NAMESPACE = "/api/v1/namespaces/rec-kubectl"
PODS = f"{NAMESPACE}/pods"
NODE = "/api/v1/nodes/rec-node-1"
APPS = "/apis/apps/v1/namespaces/rec-kubectl"
REPLICA_SETS = f"{APPS}/replicasets"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


async def _start(world: World) -> None:
    await world.namespace("rec-kubectl")
    await world.create("/api/v1/nodes", {"metadata": {"name": "rec-node-1"}})
    await world.as_recorded(4)
    web = await world.put_up(PODS, world.recorded[1].response_body)
    world.bindings.values["uid:1"] = web["metadata"]["uid"]
    await world.put_up(PODS, world.recorded[32].response_body)
    await world.put_up(f"{NAMESPACE}/events", world.recorded[3].response_body["items"][0])


async def _idle_runs(world: World) -> None:
    await world.merge(f"{PODS}/idle/status", {"status": {"phase": "Running"}})


async def _late(world: World) -> None:
    await world.put_up(f"{NAMESPACE}/configmaps", world.recorded[56].response_body)


async def _deployment(world: World) -> None:
    """The deployment, its first replica set, and the event about it."""
    made = await world.create(f"{APPS}/deployments", _unannotated(world.recorded[58].response_body))
    metadata = made["metadata"]
    world.bindings.values |= {"uid:9": metadata["uid"], "rv:13": metadata["resourceVersion"]}
    await _event(world, 0)
    await world.put_up(REPLICA_SETS, world.recorded[64].response_body["items"][1])
    await world.status_of(58)


def _unannotated(recorded: Body) -> Body:
    metadata = {"name": recorded["metadata"]["name"]}
    return {"metadata": metadata, "spec": recorded["spec"]}


async def _event(world: World, index: int) -> None:
    """An event of the deployment's controller; its name keeps the recorded order."""
    event = world.recorded[73].response_body["items"][index]
    await world.put_up(f"{NAMESPACE}/events", event, f"d.{index:016x}")


async def _rolled_out(world: World) -> None:
    await _event(world, 1)
    await world.put_up(REPLICA_SETS, world.recorded[64].response_body["items"][0])
    await world.status_of(62)


async def _scaled_down(world: World) -> None:
    for index in range(2, len(world.recorded[73].response_body["items"])):
        await _event(world, index)
    for item in reversed(world.recorded[74].response_body["items"]):
        await world.as_recorded(74, f"{REPLICA_SETS}/{item['metadata']['name']}", item)
    await world.status_of(71)


async def _daemon_set(world: World) -> None:
    await world.put_up(f"{APPS}/daemonsets", world.recorded[78].response_body)


async def _request(world: World) -> None:
    await world.put_up(REQUESTS, world.recorded[136].response_body)


STAGE = Stage(
    before={
        1: _start,
        17: World.touch,
        56: _late,
        58: _deployment,
        59: World.touch,
        62: _rolled_out,
        67: status_of(67),
        69: status_of(69),
        71: _scaled_down,
        75: status_of(75),
        77: status_of(77),
        78: _daemon_set,
        82: as_recorded(82),
        84: as_recorded(84),
        86: as_recorded(86),
        88: as_recorded(88),
        90: as_recorded(90),
        92: World.touch,
        95: as_recorded(95),
        98: lambda world: world.delete(f"{PODS}/web?gracePeriodSeconds=0"),
        136: _request,
    },
    during={44: _idle_runs, 47: lambda world: world.delete(f"{PODS}/idle")},
)
