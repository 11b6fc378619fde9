"""What every namespace has: the ServiceAccount ``default`` and the ConfigMap ``kube-root-ca.crt``.

Pods need both, so the server makes them together with the namespace (`companions`, `auth.bootstrap.ensure`) and a
pod created right afterwards is accepted. The loop here repairs: it brings back what somebody deleted and corrects
a changed certificate, as the controllers of a full cluster do.
"""

import asyncio
import contextlib
from typing import Final

from flexlet.api import decode
from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.status import AlreadyExists, ApiError, Forbidden, NotFound
from flexlet.apiserver.auth.bootstrap import Placed
from flexlet.apiserver.housekeeping.follow import follow
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.core.faults import Faults
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NAMESPACES, Cluster, Ref

ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
SERVICE_ACCOUNTS: Final = Ref("", "v1", "serviceaccounts")
CONFIG_MAPS: Final = Ref("", "v1", "configmaps")

_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes clusters."
)


class _Seen(KubeStruct, frozen=True, kw_only=True):
    """What the loop looks at; only config maps have data."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


def companions(namespace: str, ca_pem: str) -> tuple[Placed, Placed]:
    """The objects a new namespace comes with."""
    annotations = {"kubernetes.io/description": _DESCRIPTION}
    metadata = {"name": ROOT_CA, "namespace": namespace, "annotations": annotations}
    account = {
        "kind": "ServiceAccount",
        "apiVersion": "v1",
        "metadata": {"name": ACCOUNT, "namespace": namespace},
    }
    bundle = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"ca.crt": ca_pem}}
    return Placed("serviceaccounts", account), Placed("configmaps", bundle)


async def repair(cluster: Cluster, ca_pem: str, clock: Clock, faults: Faults | None = None) -> None:
    """Keep both objects in every namespace until cancelled."""
    keeper = _Keeper(cluster, ca_pem)
    handlers = {NAMESPACES: keeper.namespace, SERVICE_ACCOUNTS: keeper.account, CONFIG_MAPS: keeper.bundle}
    async with asyncio.TaskGroup() as group:
        for ref, handle in handlers.items():
            group.create_task(follow(cluster, ref, handle, Isolation("serviceaccounts", clock, faults)))


class _Keeper:
    """The three reactions of the loop."""

    def __init__(self, cluster: Cluster, ca_pem: str) -> None:
        self._cluster = cluster
        self._ca_pem = ca_pem

    async def namespace(self, event: str, value: bytes) -> None:
        """A namespace appeared."""
        metadata = decode.from_json(value, _Seen).metadata
        if event == "ADDED" and metadata.deletion_timestamp is None:
            await self._complete(metadata.name)

    async def account(self, event: str, value: bytes) -> None:
        """A service account went."""
        if event == "DELETED":
            metadata = decode.from_json(value, _Seen).metadata
            if metadata.name == ACCOUNT:
                await self._complete(metadata.namespace)

    async def bundle(self, event: str, value: bytes) -> None:
        """A config map went or changed; only one per namespace matters, found by its name in the bytes."""
        if ROOT_CA.encode() not in value:
            return
        found = decode.from_json(value, _Seen)
        if found.metadata.name != ROOT_CA:
            return
        if event == "DELETED":
            await self._complete(found.metadata.namespace)
        elif found.data != {"ca.crt": self._ca_pem}:
            await self._correct(found.metadata.namespace)

    async def _complete(self, namespace: str) -> None:
        for placed in companions(namespace, self._ca_pem):
            # Somebody was quicker, or the namespace is on its way out: both are fine.
            with contextlib.suppress(AlreadyExists, Forbidden, NotFound):
                await self._cluster.create(Ref("", "v1", placed.bucket), namespace, placed.obj)

    async def _correct(self, namespace: str) -> None:
        with contextlib.suppress(ApiError):
            patch = [{"op": "add", "path": "/data", "value": {"ca.crt": self._ca_pem}}]
            await self._cluster.patch(CONFIG_MAPS, namespace, ROOT_CA, patch, kind="json")
