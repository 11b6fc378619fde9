"""What a new server starts with: namespaces, the two system priority classes, the default roles and bindings.

The objects are data (``bootstrap.json``, as a Kubernetes 1.36.3 server lists them); roles of controllers and kinds
that flexlet does not have are left out. Only what is missing is written: an operator's changes to a default role
stay. All writes are submitted together, so that they share one commit.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from flexlet.api.age import format_seconds
from flexlet.apiserver.auth import kubeletclient
from flexlet.apiserver.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from flexlet.apiserver.auth.rules import Rule, rules_of
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object

Create: TypeAlias = Callable[[str, Object], Awaitable[object]]
"""Stores a finished object in a bucket; only its resourceVersion is still to be set."""

CLIENT_CA_MAP: Final = "extension-apiserver-authentication"


class Placed(NamedTuple):
    """An object and the bucket it belongs in."""

    bucket: str
    obj: Object


def initial_objects(ca_pem: str) -> list[Placed]:
    """Everything a new server starts with."""
    metadata = {"name": CLIENT_CA_MAP, "namespace": "kube-system"}
    client_ca = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": metadata,
        "data": {"client-ca-file": ca_pem},
    }
    placed = [Placed(bucket, obj) for bucket, objects in _data().items() for obj in objects]
    return [*placed, Placed("configmaps", client_ca), Placed(CLUSTER_ROLE_BINDINGS, kubeletclient.binding())]


async def ensure(objects: Iterable[Placed], view: View, create: Create, now: float) -> int:
    """Store those objects that are missing; says how many were."""
    missing = [placed for placed in objects if not _exists(view, placed)]
    await asyncio.gather(*(create(placed.bucket, finished(placed.obj, now)) for placed in missing))
    return len(missing)


def finished(obj: Object, now: float) -> Object:
    """A new object with the metadata a server sets, in the order clients are used to."""
    metadata: dict[str, Any] = obj["metadata"]
    placed = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    made = {"uid": str(uuid.uuid4()), "creationTimestamp": format_seconds(now)}
    return obj | {"metadata": placed | made | {k: v for k, v in metadata.items() if k not in placed}}


def node_rules() -> tuple[Rule, ...]:
    """The fixed rules of the Node authorizer: those of the ClusterRole ``system:node``."""
    return next(rules_of(role) for role in _data()[CLUSTER_ROLES] if role["metadata"]["name"] == "system:node")


def _exists(view: View, placed: Placed) -> bool:
    metadata = placed.obj["metadata"]
    return view.get(placed.bucket, metadata.get("namespace", ""), metadata["name"]) is not None


@cache
def _data() -> dict[str, list[Object]]:
    text = files("flexlet.apiserver.auth").joinpath("bootstrap.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[dict[str, Any]]])
