"""patch.jsonl: objects to be patched; what server-side apply would have done is put there after each such line."""

from typing import Any

from tests.apiserver.replay.stage import Stage, World, status_of

NAMESPACE = "/api/v1/namespaces/rec-patch"
DEPLOYMENTS = "/apis/apps/v1/namespaces/rec-patch/deployments"
ENVIRONMENT = [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]


async def _start(world: World) -> None:
    await world.namespace("rec-patch")
    data = {"a": "1", "b": "2"}
    await world.create(f"{NAMESPACE}/configmaps", {"metadata": {"name": "c", "labels": {"l": "1"}}, "data": data})
    await world.widgets()


async def _pod(world: World) -> None:
    owner = await world.create(f"{NAMESPACE}/configmaps", {"metadata": {"name": "own"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "uid": owner["metadata"]["uid"]}
    metadata = {"name": "p", "ownerReferences": [reference], "finalizers": ["rec.example.com/a"]}
    ports = [{"containerPort": 80}, {"containerPort": 81}]
    spec = {
        "automountServiceAccountToken": False,
        "schedulerName": "none",
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [
            {"name": "a", "image": "i:1", "ports": ports, "env": ENVIRONMENT},
            {"name": "b", "image": "i:1"},
        ],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "schedulingGates": [{"name": "g1"}, {"name": "g2"}],
    }
    await world.create(f"{NAMESPACE}/pods", {"metadata": metadata, "spec": spec})


async def _deployment(world: World) -> None:
    ports = [{"name": "http", "containerPort": 80}, {"containerPort": 81}]
    mounts = [{"name": "v", "mountPath": "/v"}]
    first = {"name": "a", "image": "i:1", "args": ["1", "2"], "ports": ports, "env": ENVIRONMENT}
    template: Any = {
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
        "containers": [{**first, "volumeMounts": mounts}, {"name": "b", "image": "i:1"}],
        "nodeSelector": {"x": "y"},
    }
    labels = {"a": "d"}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": template},
    }
    await world.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    await world.status_of(51)


async def _node(world: World) -> None:
    labels = {f"kubernetes.io/{key}": value for key, value in (("arch", "amd64"), ("os", "linux"))}
    metadata = {
        "name": "rec-node-1",
        "labels": {**labels, "kubernetes.io/hostname": "rec-node-1"},
        "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
    }
    await world.create(
        "/api/v1/nodes", {"metadata": metadata, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    )


STAGE = Stage(
    before={
        1: _start,
        33: _pod,
        51: _deployment,
        **{seq: status_of(seq) for seq in (*range(52, 63), 145, 148)},
        63: _node,
    },
    # A change of managedFields only.
    unordered=frozenset({56}),
)
