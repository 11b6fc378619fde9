"""crud.jsonl: an empty cluster; a second pod with pod-level resources, and the controllers' answers."""

from typing import Any

from tests.apiserver.replay.stage import Stage, World, as_recorded, pod, status_of

RESOURCES = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "64Mi"}}
TTL = {"metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "0"}}}


async def _sized_pod(world: World) -> None:
    await world.create("/api/v1/namespaces/rec-crud/pods", pod("plr2", resources=RESOURCES))


async def _node_seen(world: World) -> None:
    await world.merge("/api/v1/nodes/rec-node-1", TTL)


async def _bootstrapping(world: World) -> None:
    """Whoever has a bootstrap token may ask for a certificate and gets it."""
    group = {"kind": "Group", "name": "system:bootstrappers", "apiGroup": "rbac.authorization.k8s.io"}
    for role in ("system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"):
        reference = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"generateName": "bootstrap-"}, "roleRef": reference, "subjects": [group]}
        await world.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


async def _refused_by_signer(world: World) -> None:
    await world.settled("/apis/certificates.k8s.io/v1/certificatesigningrequests/rec-csr", "Failed")


def _config_map(version: str, **data: str) -> Any:
    return {"metadata": {"name": "cm1", "resourceVersion": version}, "data": data}


def _lease(version: str) -> Any:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "rec-node-1", "uid": "<uid:21>"}
    spec = {"holderIdentity": "rec-node-1", "leaseDurationSeconds": 40, "renewTime": "<microtime>"}
    metadata = {"name": "rec-node-1", "resourceVersion": version, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": spec}


STAGE = Stage(
    before={
        60: _sized_pod,
        68: _node_seen,
        89: status_of(114),
        91: as_recorded(103),
        92: status_of(112),
        93: status_of(111),
        105: status_of(105),
        106: status_of(106, replicas=0),
        107: status_of(107),
        108: status_of(107, observedGeneration=3),
        120: _bootstrapping,
        124: _refused_by_signer,
    },
    # The recorder sent one and the same object and changed it later, which the recording shows too early.
    bodies={
        9: _config_map("<rv:4>", a="2", b="3"),
        10: _config_map("<rv:4>", a="2", b="4"),
        73: _lease("<rv:35>"),
        74: _lease("<rv:35>"),
    },
    patient=frozenset({3, 4, 121}),
    # 8 is a change of managedFields only.
    unordered=frozenset({2, 3, 8, 69}),
)
