"""admission.jsonl: three namespaces, priority classes, a node and its pods, a role of alice."""

import base64
from typing import Any

from tests.apiserver.replay.certificates import certificate_request
from tests.apiserver.replay.stage import Stage, World, pod

NAMESPACE = "/api/v1/namespaces/rec-adm"
PODS = f"{NAMESPACE}/pods"
NODE = "/api/v1/nodes/rec-node-1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/rec-adm"
QUOTA = {"count/configmaps": "3", "limits.memory": "1Gi", "pods": "3", "requests.cpu": "1", "secrets": "1"}


async def _start(world: World) -> None:
    for name in ("rec-adm", "rec-lr", "rec-rq"):
        await world.namespace(name)
    await world.create(CLASSES, {"metadata": {"name": "rec-high"}, "value": 1000})
    await world.create(CLASSES, {"metadata": {"name": "rec-np"}, "value": -3, "preemptionPolicy": "Never"})


async def _no_default_class(world: World) -> None:
    await world.delete(f"{CLASSES}/rec-def")


async def _pod_security(world: World, level: str | None, mode: str) -> None:
    labels = {f"pod-security.kubernetes.io/{mode}": level}
    await world.merge(NAMESPACE, {"metadata": {"labels": labels}})


async def _quota(world: World) -> None:
    await _pod_security(world, None, "enforce")
    path = "/api/v1/namespaces/rec-rq/resourcequotas"
    await world.create(path, {"metadata": {"name": "q1"}, "spec": {"hard": QUOTA}})
    await world.until(f"{path}/q1", lambda quota: "used" in quota["status"])


async def _secret(world: World) -> None:
    await world.create("/api/v1/namespaces/rec-rq/secrets", {"metadata": {"name": "a"}})


async def _finished(world: World) -> None:
    path = "/api/v1/namespaces/rec-rq"
    await world.merge(f"{path}/pods/q1/status", {"status": {"phase": "Succeeded"}})
    await world.until(f"{path}/resourcequotas/q1", lambda quota: quota["status"]["used"]["pods"] == "0")


async def _node(world: World) -> None:
    """A node as line 72 shows it, without the labels that a controller adds, and pods that run there."""
    await world.create("/api/v1/nodes", {"metadata": {"name": "rec-node-1"}})
    await world.as_recorded(72, NODE)
    await _running(
        world, "r1", {"limits": {"cpu": "8", "memory": "16Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    )
    level = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    await _running(world, "r2", {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}, resources=level)
    await _running(world, "r3", {"limits": {"cpu": "1", "memory": "64Mi"}})


async def _running(world: World, name: str, size: Any, **spec: Any) -> None:
    containers = [{"name": "c", "image": "x:1", "resources": size}]
    await world.create(PODS, pod(name, nodeName="rec-node-1", containers=containers, **spec))
    status = {
        "name": "c",
        "ready": True,
        "image": "x",
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }
    await world.merge(
        f"{PODS}/{name}/status",
        {
            "status": {
                "phase": "Running",
                "containerStatuses": [{**status, "resources": {"requests": {"cpu": "1"}}}],
            }
        },
    )


async def _declares(world: World, *features: str) -> None:
    await world.merge(f"{NODE}/status", {"status": {"declaredFeatures": list(features) or None}})


async def _references(world: World) -> None:
    """What the node may read: that which its pods refer to."""
    for kind, name in (("secrets", "used"), ("secrets", "unused"), ("configmaps", "used")):
        await world.create(f"{NAMESPACE}/{kind}", {"metadata": {"name": name}})
    volumes = [{"name": "s", "secret": {"secretName": "used"}}, {"name": "c", "configMap": {"name": "used"}}]
    vol = await world.create(
        PODS, pod("vol", nodeName="rec-node-1", volumes=volumes, automountServiceAccountToken=True)
    )
    bare = await world.create(PODS, pod("nomount", nodeName="rec-node-1"))
    world.bindings.values |= {"uid:32": vol["metadata"]["uid"], "uid:33": bare["metadata"]["uid"]}


async def _alice(world: World) -> None:
    rules = [
        {"verbs": ["get", "list", "watch", "patch"], "apiGroups": [""], "resources": ["pods", "pods/status"]},
        {
            "verbs": ["get", "update", "list"],
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["only"],
        },
        {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["*"]},
        {"verbs": ["*"], "apiGroups": ["rec.example.com"], "resources": ["*/scale"]},
    ]
    await world.create(f"{NAMESPACE}/configmaps", {"metadata": {"name": "only"}})
    await world.create(f"{RBAC}/roles", {"metadata": {"name": "ra"}, "rules": rules})
    subjects = [
        {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "ServiceAccount", "name": "default", "namespace": "rec-adm"},
    ]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ra"}
    await world.create(
        f"{RBAC}/rolebindings", {"metadata": {"name": "ra"}, "roleRef": reference, "subjects": subjects}
    )


async def _may_write_roles(world: World) -> None:
    group = "rbac.authorization.k8s.io"
    rules = [{"verbs": ["create"], "apiGroups": [group], "resources": ["roles", "rolebindings"]}]
    await world.create(f"{RBAC}/roles", {"metadata": {"name": "writer"}, "rules": rules})
    subject = {"kind": "User", "name": "alice", "apiGroup": group}
    reference = {"apiGroup": group, "kind": "Role", "name": "writer"}
    await world.create(
        f"{RBAC}/rolebindings", {"metadata": {"name": "writer"}, "roleRef": reference, "subjects": [subject]}
    )


def _serving_request(node: str) -> Any:
    request = base64.b64encode(certificate_request(node)).decode()
    usages = ["digital signature", "server auth"]
    spec = {"request": request, "signerName": "kubernetes.io/kubelet-serving", "usages": usages}
    return {"metadata": {"generateName": "csr-"}, "spec": spec}


STAGE = Stage(
    before={
        1: _start,
        14: _no_default_class,
        19: lambda world: _pod_security(world, "restricted", "warn"),
        20: lambda world: _pod_security(world, "baseline", "enforce"),
        31: _quota,
        41: _secret,
        43: _finished,
        47: _node,
        54: lambda world: _declares(world, "InPlacePodLevelResourcesVerticalScaling"),
        57: lambda world: _declares(world, "GuaranteedQoSPodCPUResize"),
        58: _declares,
        84: World.touch,
        103: _references,
        135: _alice,
        153: _may_write_roles,
    },
    bodies={128: _serving_request("rec-node-2")},
    unordered=frozenset({2, 3, 4}),
)
