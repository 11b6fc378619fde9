"""delete.jsonl: objects to be deleted, each made just before; pods on a node that does not exist.

Nobody collects dependents in the recording until after it ended. Namespaces end only when the recording lets them.
"""

from typing import Any

from tests.apiserver.replay.stage import Stage, World, pod

NAMESPACE = "/api/v1/namespaces/rec-delete"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
REPLICA_SETS = "/apis/apps/v1/namespaces/rec-delete/replicasets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/rec-delete/deployments"
BUDGETS = "/apis/policy/v1/namespaces/rec-delete/poddisruptionbudgets"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/rec-delete/roles"
CONTAINERS = {"containers": [{"name": "c", "image": "x:1"}]}


async def _start(world: World) -> None:
    await world.namespace("rec-delete")
    await _config_map(world, "a")


async def _config_map(world: World, name: str, **metadata: Any) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": name, **metadata}})


async def _pod(world: World, name: str, finalizers: tuple[str, ...] = (), **spec: Any) -> None:
    body = pod(name, **spec)
    await world.create(f"{NAMESPACE}/pods", {**body, "metadata": {"name": name, "finalizers": list(finalizers)}})


async def _pods(world: World) -> None:
    bound: dict[str, Any] = {"nodeName": "rec-none"}
    hold = ("rec.example.com/x",)
    await _pod(world, "u")
    await _pod(world, "g", **bound)
    await _pod(world, "g1", terminationGracePeriodSeconds=7, **bound)
    await _pod(world, "g2", terminationGracePeriodSeconds=0, **bound)
    await _pod(world, "g3", **bound)
    await world.merge(f"{NAMESPACE}/pods/g3/status", {"status": {"phase": "Succeeded"}})
    await _pod(world, "g4", hold)
    await _pod(world, "g5", hold, **bound)
    await _pod(world, "g6", **bound)
    await _pod(world, "g7", **bound)


async def _replica_set(world: World, name: str) -> None:
    """A replica set, its pod, and its status as first counted."""
    template = {"automountServiceAccountToken": False, "schedulerName": "none", **CONTAINERS}
    labels = {"a": name}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": template}}
    made = await world.create(REPLICA_SETS, {"metadata": {"name": name}, "spec": spec})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": made["metadata"]["uid"]}
    owners = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    metadata = {"generateName": f"{name}-", "labels": labels, "ownerReferences": owners}
    await world.create(f"{NAMESPACE}/pods", {"metadata": metadata, "spec": template})
    counted = {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}
    await world.merge(f"{REPLICA_SETS}/{name}/status", {"status": counted})


async def _released(world: World, name: str) -> None:
    """The collector lets an owner go."""
    await world.merge(f"{REPLICA_SETS}/{name}", {"metadata": {"finalizers": None}})


async def _job(world: World) -> None:
    spec = {
        "suspend": True,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}},
    }
    await world.create("/apis/batch/v1/namespaces/rec-delete/jobs", {"metadata": {"name": "j"}, "spec": spec})


async def _collection(world: World) -> None:
    for number in range(4):
        await _config_map(world, f"k{number}", labels={"k": str(number % 2)})


async def _pods_to_collect(world: World) -> None:
    await _pod(world, "dc0")
    await _pod(world, "dc1")
    await _pod(world, "dc2", nodeName="rec-none")


async def _one_of_each(world: World) -> None:
    await world.create("/apis/coordination.k8s.io/v1/namespaces/rec-delete/leases", {"metadata": {"name": "l"}})
    await world.create(f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "sx"}})
    for path in ("secrets", "limitranges"):
        await world.create(f"{NAMESPACE}/{path}", {"metadata": {"name": "dd"}, **_spec(path)})
    about = {"kind": "Pod", "namespace": "rec-delete", "name": "x"}
    await world.create(f"{NAMESPACE}/events", {"metadata": {"name": "dd"}, "involvedObject": about})
    await world.create(BUDGETS, {"metadata": {"name": "dd"}, "spec": {"minAvailable": 1}})
    await world.create(ROLES, {"metadata": {"name": "dd"}, "rules": []})
    labels = {"a": "dd"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": CONTAINERS}}
    await world.create(DEPLOYMENTS, {"metadata": {"name": "dd"}, "spec": spec})


def _spec(path: str) -> Any:
    return {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}} if path == "limitranges" else {}


async def _quota(world: World) -> None:
    """A quota counted after the pods were gone."""
    world.quotas_may_count.clear()
    await world.create(
        f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "9"}}}
    )
    await world.status_of(72)


async def _lingering(world: World) -> None:
    world.namespaces_may_end.clear()
    await world.namespace("rec-nsdel")


async def _ends(world: World) -> None:
    world.namespaces_may_end.set()


async def _finalized(world: World) -> None:
    world.namespaces_may_end.clear()
    await world.namespace("rec-nsfin")


async def _kubectl(world: World) -> None:
    await _config_map(world, "kc")
    await _pod(world, "kp")
    for name in ("kp2", "kp3", "kp4"):
        await _pod(world, name, nodeName="rec-none")


async def _labelled(world: World) -> None:
    for name in ("kc2", "kc3"):
        await _config_map(world, name, labels={"z": "1"})


STAGE = Stage(
    before={
        1: _start,
        3: lambda world: _config_map(world, "a"),
        6: lambda world: world.seen(f"{CONFIG_MAPS}/a", 1),
        7: lambda world: _config_map(world, "f", finalizers=["rec.example.com/hold"]),
        15: _pods,
        42: lambda world: _pod(world, "g8"),
        48: lambda world: _replica_set(world, "bg"),
        50: World.touch,
        51: lambda world: _replica_set(world, "fg"),
        52: lambda world: _released(world, "fg"),
        53: lambda world: _replica_set(world, "or"),
        54: lambda world: _released(world, "or"),
        55: lambda world: _replica_set(world, "od"),
        56: _job,
        57: _collection,
        62: _pods_to_collect,
        66: lambda world: world.create("/api/v1/nodes", {"metadata": {"name": "rec-node-1"}}),
        70: _one_of_each,
        72: _quota,
        79: _lingering,
        84: _ends,
        85: _finalized,
        86: lambda world: world.delete("/api/v1/namespaces/rec-nsfin"),
        88: _kubectl,
        98: _labelled,
        106: lambda world: _replica_set(world, "krs"),
        113: lambda world: world.namespace("rec-kns"),
    },
    during={
        94: lambda world: world.delete(f"{NAMESPACE}/pods/kp2?gracePeriodSeconds=0"),
        108: lambda world: _released(world, "krs"),
        115: _ends,
    },
    patient=frozenset({84}),
)
