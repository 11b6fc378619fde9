"""A server small enough for one test: objects in memory, plugins in front of them."""

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from flexlet.api import status
from flexlet.apiserver.admission.chain import default_plugins
from flexlet.apiserver.contract.kind import Kind, Object, Strategy
from flexlet.apiserver.contract.request import AdmissionRequest, Attributes, Decision, User

ADMIN = User(name="admin", groups=("system:masters", "system:authenticated"))
NOW = 1_700_000_000.0


def kind(name: str, plural: str, group: str = "", *, namespaced: bool = True) -> Kind:
    """A kind as far as admission looks at it."""
    return Kind(
        group=group,
        version="v1",
        kind=name,
        plural=plural,
        singular=name.lower(),
        namespaced=namespaced,
        strategy=Strategy(),
    )


KINDS = {
    entry.plural: entry
    for entry in (
        kind("Pod", "pods"),
        kind("Service", "services"),
        kind("Secret", "secrets"),
        kind("ConfigMap", "configmaps"),
        kind("Event", "events"),
        kind("ServiceAccount", "serviceaccounts"),
        kind("ResourceQuota", "resourcequotas"),
        kind("LimitRange", "limitranges"),
        kind("Deployment", "deployments", "apps"),
        kind("Lease", "leases", "coordination.k8s.io"),
        kind("Namespace", "namespaces", namespaced=False),
        kind("Node", "nodes", namespaced=False),
        kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False),
        kind("RuntimeClass", "runtimeclasses", "node.k8s.io", namespaced=False),
        kind("CertificateSigningRequest", "certificatesigningrequests", "certificates.k8s.io", namespaced=False),
    )
}


def node_user(name: str) -> User:
    """The identity of a node."""
    return User(name=f"system:node:{name}", groups=("system:nodes", "system:authenticated"))


class Clock:
    """A clock that stands still."""

    def now(self) -> float:
        """The one moment of these tests."""
        return NOW

    def monotonic(self) -> float:
        """The same."""
        return NOW

    async def sleep(self, seconds: float) -> None:
        """Nothing here waits."""
        raise NotImplementedError(seconds)


class World:
    """Stored objects, and what plugins may ask for; `allowed` lists what the authorizer lets through."""

    def __init__(self, gates: dict[str, bool] | None = None) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.allowed: list[Attributes] = []
        self.conflicts = 0
        self.version = 0
        self.writes: list[Object] = []
        self.plugins = default_plugins(
            gates or {},
            authorizer=self,
            quota_writer=self,
            clock=Clock(),
            source=random.Random(1),  # noqa: S311
        )

    def put(self, plural: str, obj: Object, namespace: str = "") -> Object:
        """Store an object as it is."""
        self.version += 1
        stored = copy.deepcopy(obj)
        metadata = stored.setdefault("metadata", {})
        metadata["resourceVersion"] = str(self.version)
        if namespace:
            metadata["namespace"] = namespace
        self.objects[KINDS[plural].storage_bucket, namespace, metadata["name"]] = stored
        return stored

    def get(self, bucket: str, namespace: str, name: str) -> Object | None:
        """See `View.get`."""
        return copy.deepcopy(self.objects.get((bucket, namespace, name)))

    def list(self, bucket: str, namespace: str = "") -> Iterator[Object]:
        """See `View.list`."""
        for key in sorted(self.objects):
            if key[0] == bucket and namespace in {"", key[1]}:
                yield copy.deepcopy(self.objects[key])

    def decide(self, attributes: Attributes) -> Decision:
        """See `Authorizer.decide`."""
        is_master = "system:masters" in attributes.user.groups
        return Decision(is_master or attributes in self.allowed)

    async def write_status(self, quota: Object) -> None:
        """See `QuotaWriter.write_status`."""
        metadata = quota["metadata"]
        key = (KINDS["resourcequotas"].storage_bucket, metadata["namespace"], metadata["name"])
        if self.conflicts or self.objects[key]["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            self.conflicts -= 1
            raise status.conflict("resourcequotas", "", metadata["name"], "changed")
        self.writes.append(self.put("resourcequotas", quota, metadata["namespace"]))

    async def admit(self, request: AdmissionRequest) -> Object:
        """Both phases; the object as it would be stored."""
        for plugin in self.plugins:
            plugin.mutate(request, self)
        for plugin in self.plugins:
            await plugin.validate(request, self)
        return request.obj or {}

    async def create(self, plural: str, obj: Object, namespace: str = "", **rest: Any) -> Object:
        """Admit a new object."""
        return await self.admit(request_of("CREATE", plural, obj, namespace, **rest))

    async def update(self, plural: str, obj: Object, old: Object, namespace: str = "", **rest: Any) -> Object:
        """Admit a changed object."""
        return await self.admit(request_of("UPDATE", plural, obj, namespace, old=old, **rest))

    async def refusal(self, request: AdmissionRequest) -> dict[str, Any]:
        """The Status with which the request is refused."""
        try:
            await self.admit(request)
        except status.ApiError as error:
            return as_json(error)
        raise AssertionError(f"admitted: {request}")


def request_of(
    operation: str,
    plural: str,
    obj: Object | None,
    namespace: str = "",
    **rest: Any,
) -> AdmissionRequest:
    """A request by the administrator, unless `user` says otherwise."""
    metadata = (obj or rest.get("old") or {}).get("metadata") or {}
    fields = {"user": ADMIN, "subresource": "", "name": metadata.get("name", ""), **rest}
    return AdmissionRequest(
        operation=operation, kind=KINDS[plural], namespace=namespace, obj=copy.deepcopy(obj), **fields
    )


def forbidden_of(plural: str, name: str, detail: str, group: str = "", causes: Sequence[Any] = ()) -> Any:
    """The Status of a refusal, as `World.refusal` gives it."""
    return as_json(
        status.forbidden(plural, group, name, detail, msgspec.convert(causes, list[status.StatusCause]))
    )


def as_json(error: status.ApiError) -> dict[str, Any]:
    """The Status as it goes over the wire."""
    result: dict[str, Any] = msgspec.json.decode(status.encode(error.status))
    return result


def new_world(gates: dict[str, bool] | None = None) -> World:
    """A world with the namespace ``ns`` and its default account."""
    world = World(gates)
    add_namespace(world, "ns")
    return world


def add_namespace(world: World, name: str, **metadata: Any) -> None:
    """A namespace as it is shortly after its creation."""
    world.put("namespaces", {"metadata": {"name": name, **metadata}, "status": {"phase": "Active"}})
    world.put("serviceaccounts", {"metadata": {"name": "default"}}, name)


def pod(name: str = "p", *, requests: Any = None, limits: Any = None, **spec: Any) -> Object:
    """A pod of one container; further keywords go into its spec."""
    resources = {key: part for key, part in (("requests", requests), ("limits", limits)) if part}
    container = {"name": "c", "image": "x", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def refused(world: World, obj: Any, **rest: Any) -> Any:
    """The refusal of a new pod."""
    return await world.refusal(request_of("CREATE", "pods", obj, "ns", **rest))


def toleration(key: str = "", **rest: Any) -> Any:
    """A toleration of whatever value a key has."""
    return {"key": key, "operator": "Exists", **rest}
