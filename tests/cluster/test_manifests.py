"""What ``flexlet print-manifests`` prints, in a real kube-apiserver 1.36.3: it is taken, and the guard guards.

The tenant may everything that RBAC can allow, so that whatever is refused is refused by the guard alone.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from bench import controlplane
from bench.controlplane import ControlPlane
from tests.cli.test_manifests import DELETE, EVICT, MARK, RESIZE, SPECS, TEMPLATE, USE, stored
from tests.cli.test_vm_manifests import REFUSED, TAKEN, completed
from tests.cli.test_vm_manifests import stored as stored_machine
from tests.cluster.vmnode import Kubectl

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.api.status import ApiError, Forbidden
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.kubeconfig import kubeconfig as written
from flexlet.cli.manifests import PARTS, manifests
from flexlet.core.nodesize import names
from flexlet.core.nodesize.manifest import pod as balloon_of
from flexlet.core.nodesize.manifest import resize_patch
from flexlet.core.nodesize.settings import Settings
from flexlet.core.nodesize.sights import node as sight
from flexlet.ports.cluster import NAMESPACES, NODES, PODS, Ref

LACKING = controlplane.missing()
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(LACKING), reason=LACKING),
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
]
Json = dict[str, Any]
ACCOUNTS = Ref("", "v1", "serviceaccounts")
DEPLOYMENTS = Ref("apps", "v1", "deployments")
BINDINGS = Ref("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
BALLOON = "flexlet-balloon-n1"
SIZE = {"cpu": 1000, "memory": 1 << 30}
ATTEMPTS = 200
_numbers = itertools.count()


class World:
    """The API as each of those sees it who have to do with balloons."""

    def __init__(self, real: ControlPlane, admin: HttpCluster, folder: Path, stack: AsyncExitStack) -> None:
        self.admin = admin
        self.applied = ""
        self._real = real
        self._folder = folder
        self._stack = stack

    async def person(self, name: str, *groups: str) -> HttpCluster:
        """Somebody with a certificate who may do everything."""
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}
        role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "cluster-admin"}
        await self.admin.create(BINDINGS, "", {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
        return await self._connected(name, self._real.client(name, *groups))

    async def account(self, name: str) -> HttpCluster:
        """One of flexlet's own accounts, with what its roles allow."""
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = await self.admin.create(ACCOUNTS, "flexlet-system", asked, path=f"{name}/token")
        return await self._connected(name, msgspec.json.decode(made)["status"]["token"])

    async def _connected(self, name: str, credential: Credential | str) -> HttpCluster:
        path = self._folder / name
        path.write_text(written(self._real.url, self._real.ca.decode(), name, credential))
        return await self._stack.enter_async_context(HttpCluster(kubeconfig.load(path)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A server to which the manifests were applied as the page says, with a node and a tenant's namespace."""
    with controlplane.control_plane() as real:
        printed = manifests([part for part in PARTS if part != "controllers"])
        kubectl = Kubectl(real.kubeconfig)
        applied = await asyncio.to_thread(kubectl, "apply", "-f", "-", text=printed)
        again = await asyncio.to_thread(kubectl, "apply", "-f", "-", text=printed)
        async with AsyncExitStack() as stack:
            admin = await stack.enter_async_context(HttpCluster(kubeconfig.load(real.kubeconfig)))
            made = World(real, admin, tmp_path_factory.mktemp("users"), stack)
            made.applied = applied + again
            await admin.create(NAMESPACES, "", {"metadata": {"name": "team"}})
            for namespace in ("team", "kube-system"):
                # What the controller manager would make.
                await admin.create(ACCOUNTS, namespace, {"metadata": {"name": "default"}})
            await admin.create(NODES, "", {"metadata": {"name": "n1"}})
            size = {"cpu": "8", "memory": "32Gi", "pods": "110"}
            status = {"status": {"capacity": size, "allocatable": size}}
            await admin.patch(NODES, "", "n1", status, subresource="status")
            yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(world: World) -> HttpCluster:
    """A tenant; the guard is in force once she is refused."""
    found = await world.person("alice", "tenants")
    await _in_force(lambda: found.create(PODS, "team", pod(labelled=True)))
    await _in_force(lambda: found.create(DEPLOYMENTS, "team", deployment()))
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def operator(world: World) -> HttpCluster:
    return await world.person("olga", "flexlet:balloon-operators")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def controllers(world: World) -> HttpCluster:
    return await world.account("flexlet-controllers")


@pytest_asyncio.fixture(loop_scope="module")
async def balloon(world: World, alice: HttpCluster, controllers: HttpCluster) -> AsyncIterator[Json]:
    """The balloon of node n1, made as the controllers make it."""
    del alice  # once she is refused, the guard is in force
    node = sight(await world.admin.get(NODES, "", "n1"))
    body = balloon_of(node, Settings(), "G", names.CLASS, SIZE, SIZE)
    made: Json = msgspec.json.decode(await controllers.create(PODS, "kube-system", body))
    yield made
    await controllers.delete(PODS, "kube-system", BALLOON)


def pod(*, labelled: bool = False, classed: bool = False) -> Json:
    """A pod, with what a tenant may not use."""
    meta: Json = {"name": f"p{next(_numbers)}"} | ({"labels": {names.LABEL: "true"}} if labelled else {})
    spec: Json = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": meta, "spec": spec | ({"priorityClassName": names.CLASS} if classed else {})}


def deployment() -> Json:
    labels = {"app": "d"}
    template = pod(classed=True) | {"metadata": {"labels": labels}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": f"d{next(_numbers)}"}, "spec": spec}


async def _in_force(attempt: Callable[[], Awaitable[Any]]) -> None:
    """Try until a policy says no: the server takes a moment to learn of it."""
    for _ in range(ATTEMPTS):
        if "ValidatingAdmissionPolicy" in await refused(attempt()):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("no policy came into force")


async def refused(attempt: Awaitable[Any]) -> str:
    """Why the server said no; empty if it did not."""
    try:
        await attempt
    except ApiError as error:
        return str(error)
    return ""


def denied(what: str, policy: str, why: str) -> str:
    """How a server puts it that a policy refuses."""
    return (
        f"{what} is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"
    )


async def test_everything_is_taken_and_stays(world: World) -> None:
    """Applied twice, the second time nothing changes."""
    lines = [line.rpartition(" ") for line in world.applied.splitlines()]
    half = len(lines) // 2
    assert [line[0] for line in lines[:half]] == [line[0] for line in lines[half:]]
    assert {line[2] for line in lines[:half]} == {"created"}
    assert [line[0] for line in lines[half:] if line[2] != "unchanged"] == []


@pytest.mark.parametrize(("spec", "found"), SPECS)
async def test_a_node_size_is_completed_or_refused_as_by_the_embedded_server(
    world: World, spec: Json, found: Any
) -> None:
    assert await stored(world.admin, spec) == found


@pytest.mark.parametrize("spec", TAKEN)
async def test_a_virtual_machine_is_completed_as_by_the_embedded_server(world: World, spec: Json) -> None:
    assert await stored_machine(world.admin, spec) == completed(spec)


@pytest.mark.parametrize(("spec", "complaint"), REFUSED)
async def test_a_virtual_machine_is_refused_as_by_the_embedded_server(
    world: World, spec: Json, complaint: str
) -> None:
    assert await stored_machine(world.admin, spec) == complaint


async def test_a_tenant_makes_no_balloons(alice: HttpCluster) -> None:
    """Neither by the class, nor by the label, nor through a workload; other pods are nobody's business."""
    for body in (pod(classed=True), pod(labelled=True)):
        complaint = await refused(alice.create(PODS, "team", body))
        name = body["metadata"]["name"]
        assert complaint == denied(f'pods "{name}"', "flexlet-balloon-guard", USE)
    body = deployment()
    complaint = await refused(alice.create(DEPLOYMENTS, "team", body))
    named = f'deployments.apps "{body["metadata"]["name"]}"'
    assert complaint == denied(named, "flexlet-balloon-templates", TEMPLATE)
    mine = pod()["metadata"]["name"]
    assert await refused(alice.create(PODS, "team", pod() | {"metadata": {"name": mine}})) == ""
    label = {"metadata": {"labels": {names.LABEL: "true"}}}
    complaint = await refused(alice.patch(PODS, "team", mine, label))
    assert complaint == denied(f'pods "{mine}"', "flexlet-balloon-guard", MARK)
    assert await refused(alice.patch(PODS, "team", mine, {"metadata": {"labels": {"mine": "yes"}}})) == ""
    assert await refused(alice.delete(PODS, "team", mine)) == ""


async def test_a_tenant_changes_no_balloon(alice: HttpCluster, balloon: Json) -> None:
    """No resize, no delete, no eviction, and its marks stay."""
    named = f'pods "{BALLOON}"'
    smaller = {"cpu": 500, "memory": 1 << 29}
    body = resize_patch("G", smaller, balloon["metadata"]["resourceVersion"], balloon["metadata"]["uid"])
    complaint = await refused(
        alice.patch(PODS, "kube-system", BALLOON, body, kind="strategic", subresource="resize")
    )
    assert complaint == denied(named, "flexlet-balloon-guard", RESIZE)
    assert await refused(alice.delete(PODS, "kube-system", BALLOON)) == denied(
        named, "flexlet-balloon-guard", DELETE
    )
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": BALLOON}}
    complaint = await refused(alice.create(PODS, "kube-system", eviction, path=f"{BALLOON}/eviction"))
    assert complaint == denied(named, "flexlet-balloon-eviction", EVICT)
    for change in ({"labels": {names.LABEL: None}}, {"annotations": {names.OWNER: "alice"}}):
        complaint = await refused(alice.patch(PODS, "kube-system", BALLOON, {"metadata": change}))
        assert complaint == denied(named, "flexlet-balloon-guard", MARK)


async def test_those_who_must_can(controllers: HttpCluster, operator: HttpCluster, balloon: Json) -> None:
    """Controllers and operators resize, controllers describe; the controllers make none elsewhere."""
    meta = balloon["metadata"]
    for who, cpu in ((controllers, 500), (operator, 600)):
        seen = msgspec.json.decode(await who.get(PODS, "kube-system", BALLOON))["metadata"]
        body = resize_patch("G", {"cpu": cpu, "memory": 1 << 29}, seen["resourceVersion"], meta["uid"])
        done = await who.patch(PODS, "kube-system", BALLOON, body, kind="strategic", subresource="resize")
        found = msgspec.json.decode(done)["spec"]["containers"][0]["resources"]
        assert found["requests"] == {"cpu": f"{cpu}m", "memory": "512Mi"}
    note = {"metadata": {"annotations": {names.DESIRED: "{}"}}}
    assert await refused(controllers.patch(PODS, "kube-system", BALLOON, note)) == ""
    with pytest.raises(Forbidden, match="flexlet-balloon-guard"):
        await controllers.create(PODS, "team", pod(labelled=True))
