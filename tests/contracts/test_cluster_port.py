"""The Cluster port's contract: the face inside the process and the client over HTTPS answer alike.

One server, two ways to it. Every rule is checked through both, and what one of them wrote is read through the
other, byte for byte.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.api.status import ApiError
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.ports.cluster import EVENTS, LEASES, NAMESPACES, NODES, PODS, Change, Cluster, Ref

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIGMAPS = Ref("", "v1", "configmaps")
DEPLOYMENTS = Ref("apps", "v1", "deployments")
CRDS = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NOWHERE = Ref("nowhere.example", "v1", "things")
_numbers = itertools.count()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    settings = Settings(data=tmp_path_factory.mktemp("server"))
    async with serving(settings, SystemClock()) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def faces(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Cluster]]:
    path = tmp_path_factory.mktemp("client") / "kubeconfig"
    path.write_text(server.kubeconfig())
    async with HttpCluster(kubeconfig.load(path)) as client:
        yield {"local": server.cluster, "https": client}


@pytest.fixture(params=["local", "https"])
def face(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cluster(faces: dict[str, Cluster], face: str) -> Cluster:
    return faces[face]


@pytest.fixture
def other(faces: dict[str, Cluster], face: str) -> Cluster:
    """The other way to the same server."""
    return faces["https" if face == "local" else "local"]


@pytest_asyncio.fixture(loop_scope="module")
async def namespace(cluster: Cluster) -> str:
    name = f"contract-{next(_numbers)}"
    await cluster.create(NAMESPACES, "", {"metadata": {"name": name}})
    return name


def named(name: str, **fields: Any) -> dict[str, Any]:
    """A body with a name; labels and everything else by keyword."""
    metadata = {"name": name, "labels": fields.pop("labels", {}), **fields.pop("metadata", {})}
    return {"metadata": metadata, **fields}


def pod(name: str) -> dict[str, Any]:
    return named(
        name,
        spec={
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
        },
    )


def read(data: bytes) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(data)
    return value


def names(items: Sequence[bytes]) -> list[str]:
    return [read(item)["metadata"]["name"] for item in items]


async def take(stream: AsyncIterator[Sequence[Change]], count: int) -> list[tuple[str, bytes]]:
    """The next changes of a watch, however they are batched."""
    found: list[tuple[str, bytes]] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            found += [(change.type, change.object) for change in await anext(stream)]
    return found


def closing(
    stream: AsyncIterator[Sequence[Change]],
) -> AbstractAsyncContextManager[AsyncGenerator[Sequence[Change]]]:
    """A watch that is ended with its block; both adapters' watches are generators."""
    assert isinstance(stream, AsyncGenerator)
    return aclosing(stream)


class Refused(msgspec.Struct, frozen=True):
    """The parts of a Status that callers act on."""

    type: str
    code: object
    reason: object
    message: object


async def refusal(call: Any) -> Refused:
    with pytest.raises(ApiError) as caught:
        await call
    found = caught.value.status
    return Refused(type(caught.value).__name__, found.code, found.reason, found.message)


async def test_created_objects_are_read_back_the_same_by_everyone(
    cluster: Cluster, other: Cluster, namespace: str
) -> None:
    """What create answers is what get, list and the other face show, byte for byte."""
    created = await cluster.create(CONFIGMAPS, namespace, named("a", data={"k": "v"}))
    listed = await other.list(CONFIGMAPS, namespace, field_selector="metadata.name=a")
    assert [created] * 3 == [
        await cluster.get(CONFIGMAPS, namespace, "a"),
        await other.get(CONFIGMAPS, namespace, "a"),
        *listed.items,
    ]
    shown = read(created)
    assert (shown["kind"], shown["apiVersion"], shown["data"]) == ("ConfigMap", "v1", {"k": "v"})


async def test_lists_agree_on_items_order_and_version(faces: dict[str, Cluster], namespace: str) -> None:
    """Both faces list the same bytes in the same order at the same version."""
    for name in ("b", "a", "c"):
        await faces["local"].create(DEPLOYMENTS, namespace, _deployment(name))
    local, https = [await faces[face].list(DEPLOYMENTS, namespace) for face in ("local", "https")]
    assert local == https
    assert names(local.items) == ["a", "b", "c"]


async def test_every_builtin_kind_lists_alike(faces: dict[str, Cluster]) -> None:
    """Items carry kind and apiVersion through both faces, for every kind the controllers read."""
    for ref in (PODS, NODES, NAMESPACES, EVENTS, LEASES, CONFIGMAPS, DEPLOYMENTS, CRDS):
        local, https = [(await faces[face].list(ref)).items for face in ("local", "https")]
        assert local == https


async def test_lists_longer_than_a_page_are_whole(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """The client pages through long lists; its callers never see pages."""
    for start in range(0, 520, 40):
        await asyncio.gather(
            *(other.create(CONFIGMAPS, namespace, named(f"c{i:04}")) for i in range(start, start + 40))
        )
    listed = await cluster.list(CONFIGMAPS, namespace, field_selector="metadata.name!=kube-root-ca.crt")
    assert names(listed.items) == [f"c{i:04}" for i in range(520)]


async def test_selectors(cluster: Cluster, namespace: str) -> None:
    """Label and field selectors choose; a wrong one is a BadRequest."""
    for name, tier in (("a", "front"), ("b", "back"), ("c", "front")):
        await cluster.create(CONFIGMAPS, namespace, named(name, labels={"tier": tier}))
    by_label = await cluster.list(CONFIGMAPS, namespace, label_selector="tier=front")
    both = await cluster.list(
        CONFIGMAPS, namespace, label_selector="tier in (front, back)", field_selector="metadata.name!=a"
    )
    assert (names(by_label.items), names(both.items)) == (["a", "c"], ["b", "c"])
    assert await refusal(cluster.list(CONFIGMAPS, namespace, field_selector="data.x=1")) == Refused(
        "BadRequest",
        400,
        "BadRequest",
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_errors_are_the_same_status(cluster: Cluster, namespace: str) -> None:
    """Each failure arrives as the same class with the same Status through both faces."""
    await cluster.create(CONFIGMAPS, namespace, named("there"))
    assert await refusal(cluster.get(CONFIGMAPS, namespace, "x")) == Refused(
        "NotFound", 404, "NotFound", 'configmaps "x" not found'
    )
    assert await refusal(cluster.create(CONFIGMAPS, namespace, named("there"))) == Refused(
        "AlreadyExists", 409, "AlreadyExists", 'configmaps "there" already exists'
    )
    assert await refusal(cluster.create(CONFIGMAPS, "nobody", named("a"))) == Refused(
        "NotFound", 404, "NotFound", 'namespaces "nobody" not found'
    )
    assert await refusal(cluster.patch(DEPLOYMENTS, namespace, "x", {})) == Refused(
        "NotFound", 404, "NotFound", 'deployments.apps "x" not found'
    )
    assert await refusal(cluster.delete(CONFIGMAPS, namespace, "x")) == Refused(
        "NotFound", 404, "NotFound", 'configmaps "x" not found'
    )
    assert await refusal(cluster.create(CONFIGMAPS, namespace, named("a_b"))) == Refused(
        "Invalid",
        422,
        "Invalid",
        'ConfigMap "a_b" is invalid: metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must'
        " consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric"
        " character (e.g. 'example.com', regex used for validation is"
        " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )


async def test_unknown_resources_are_not_found(cluster: Cluster) -> None:
    """A resource nobody serves is a NotFound, so that callers can wait for its definition."""
    for call in (cluster.get(NOWHERE, "", "x"), cluster.list(NOWHERE), cluster.create(NOWHERE, "", named("x"))):
        found = await refusal(call)
        assert (found.type, found.code) == ("NotFound", 404)


async def test_the_three_kinds_of_patch(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """Merge replaces lists, strategic merges them by key, json follows its operations."""
    await cluster.create(PODS, namespace, pod("p"))
    labelled = await cluster.patch(PODS, namespace, "p", {"metadata": {"labels": {"a": "1"}}})
    image = {"spec": {"containers": [{"name": "d", "image": "j"}]}}
    strategic = await cluster.patch(PODS, namespace, "p", image, kind="strategic")
    operations = [{"op": "add", "path": "/metadata/labels/b", "value": "2"}]
    last = await cluster.patch(PODS, namespace, "p", operations, kind="json")
    assert read(labelled)["metadata"]["labels"] == {"a": "1"}
    assert [c["image"] for c in read(strategic)["spec"]["containers"]] == ["i", "j"]
    assert read(last)["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert last == await other.get(PODS, namespace, "p")


async def test_patches_of_subresources(cluster: Cluster, namespace: str) -> None:
    """A status patch changes nothing else, and a subresource that is not there is not found."""
    await cluster.create(PODS, namespace, pod("p"))
    change = {"status": {"phase": "Running"}, "spec": {"activeDeadlineSeconds": 5}}
    status = read(await cluster.patch(PODS, namespace, "p", change, subresource="status"))
    assert (status["status"]["phase"], "activeDeadlineSeconds" in status["spec"]) == ("Running", False)
    assert (await refusal(cluster.patch(PODS, namespace, "p", {}, subresource="nothing"))).code == 404


async def test_scale_is_another_view_of_the_object(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """A patch and an update of `scale` answer with a Scale and change the replicas of the object behind it."""
    await cluster.create(DEPLOYMENTS, namespace, _deployment("d"))
    patched = read(
        await cluster.patch(DEPLOYMENTS, namespace, "d", {"spec": {"replicas": 3}}, subresource="scale")
    )
    assert (patched["kind"], patched["spec"]) == ("Scale", {"replicas": 3})
    patched["spec"]["replicas"] = 4
    updated = read(await cluster.update(DEPLOYMENTS, namespace, "d", patched, subresource="scale"))
    assert (updated["kind"], updated["spec"]) == ("Scale", {"replicas": 4})
    assert read(await other.get(DEPLOYMENTS, namespace, "d"))["spec"]["replicas"] == 4


async def test_a_namespace_must_be_given_where_there_is_one(cluster: Cluster, namespace: str) -> None:
    """Cluster kinds have no namespace, the others have one; a path that mixes them up is not found."""
    for call in (cluster.get(NODES, namespace, "n"), cluster.get(CONFIGMAPS, "", "a")):
        assert await refusal(call) == Refused(
            "NotFound", 404, "NotFound", "the server could not find the requested resource"
        )


async def test_a_resource_version_makes_writes_conditional(cluster: Cluster, namespace: str) -> None:
    """Both an update and a patch with a stale version are Conflicts and change nothing."""
    first = read(await cluster.create(CONFIGMAPS, namespace, named("a", data={"n": "1"})))
    second = read(await cluster.update(CONFIGMAPS, namespace, "a", first | {"data": {"n": "2"}}))
    stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"n": "3"}}
    conflict = Refused(
        "Conflict",
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes'
        " to the latest version and try again",
    )
    assert await refusal(cluster.patch(CONFIGMAPS, namespace, "a", stale)) == conflict
    assert await refusal(cluster.update(CONFIGMAPS, namespace, "a", first)) == conflict
    assert read(await cluster.get(CONFIGMAPS, namespace, "a")) == second


async def test_update_of_a_subresource(cluster: Cluster, namespace: str) -> None:
    """An update of `status` keeps the spec it was not asked to change."""
    stored = read(await cluster.create(PODS, namespace, pod("p")))
    body = {**stored, "status": {"phase": "Failed"}, "spec": {**stored["spec"], "activeDeadlineSeconds": 5}}
    updated = read(await cluster.update(PODS, namespace, "p", body, subresource="status"))
    assert (updated["status"]["phase"], updated["spec"]) == ("Failed", stored["spec"])


async def test_callers_keep_their_bodies(cluster: Cluster, namespace: str) -> None:
    """No method changes the value it was given: callers may send the same body twice."""
    body, patch = (
        pod("p"),
        {"metadata": {"annotations": {"a": "1"}}, "spec": {"terminationGracePeriodSeconds": 30}},
    )
    first, second = msgspec.json.encode(body), msgspec.json.encode(patch)
    stored = read(await cluster.create(PODS, namespace, body))
    await cluster.patch(PODS, namespace, "p", patch)
    await cluster.patch(PODS, namespace, "p", patch, kind="strategic")
    whole = {**stored, "metadata": {"name": "p", "labels": {"x": "y"}}}
    third = msgspec.json.encode(whole)
    await cluster.update(PODS, namespace, "p", whole)
    assert [msgspec.json.encode(value) for value in (body, patch, whole)] == [first, second, third]


async def test_posting_to_a_subresource(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """A binding is posted below the pod's name and answers with a Status."""
    await cluster.create(PODS, namespace, pod("p"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    answer = read(await cluster.create(PODS, namespace, binding, path="p/binding"))
    assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Success", 201)
    assert read(await other.get(PODS, namespace, "p"))["spec"]["nodeName"] == "n1"


async def test_delete_options_and_preconditions(cluster: Cluster, namespace: str) -> None:
    """Grace leaves a bound pod in place, a wrong uid is a Conflict, grace 0 removes it."""
    bound = pod("p")
    bound["spec"]["nodeName"] = "n1"
    await cluster.create(PODS, namespace, bound)
    await cluster.delete(PODS, namespace, "p", {"gracePeriodSeconds": 5})
    leaving = read(await cluster.get(PODS, namespace, "p"))
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 5
    wrong = {"gracePeriodSeconds": 0, "preconditions": {"uid": "other"}}
    assert (await refusal(cluster.delete(PODS, namespace, "p", wrong))).reason == "Conflict"
    await cluster.delete(PODS, namespace, "p", {"gracePeriodSeconds": 0})
    assert (await refusal(cluster.get(PODS, namespace, "p"))).reason == "NotFound"


async def test_watch_tells_every_change_in_order(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """From a list's version on, each change arrives once, with the bytes the writer got back."""
    start = (await cluster.list(CONFIGMAPS, namespace)).resource_version
    async with closing(cluster.watch(CONFIGMAPS, start, namespace)) as stream:
        created = await other.create(CONFIGMAPS, namespace, named("a", data={"n": "1"}))
        changed = await other.patch(CONFIGMAPS, namespace, "a", {"data": {"n": "2"}})
        await other.delete(CONFIGMAPS, namespace, "a")
        found = [event for event in await take(stream, 3) if b"kube-root-ca" not in event[1]]
        found += await take(stream, 3 - len(found)) if len(found) < 3 else []
    assert found[:2] == [("ADDED", created), ("MODIFIED", changed)]
    assert (found[2][0], read(found[2][1])["data"]) == ("DELETED", {"n": "2"})


async def test_watch_of_a_selection(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """An object that starts to match is ADDED, one that stops is DELETED; others are not told."""
    start = (await cluster.list(CONFIGMAPS, namespace)).resource_version
    async with closing(cluster.watch(CONFIGMAPS, start, namespace, label_selector="in=yes")) as stream:
        await other.create(CONFIGMAPS, namespace, named("a"))
        await other.patch(CONFIGMAPS, namespace, "a", {"metadata": {"labels": {"in": "yes"}}})
        await other.patch(CONFIGMAPS, namespace, "a", {"metadata": {"labels": {"in": "no"}}})
        found = await take(stream, 2)
    assert [(kind, read(data)["metadata"]["labels"]) for kind, data in found] == [
        ("ADDED", {"in": "yes"}),
        ("DELETED", {"in": "yes"}),
    ]


async def test_watch_of_one_field(cluster: Cluster, other: Cluster, namespace: str) -> None:
    """Nodes watch the pods bound to them."""
    start = (await cluster.list(PODS, namespace)).resource_version
    mine = "spec.nodeName=n1"
    async with closing(cluster.watch(PODS, start, namespace, field_selector=mine)) as stream:
        await other.create(PODS, namespace, pod("p"))
        binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
        await other.create(PODS, namespace, binding, path="p/binding")
        found = await take(stream, 1)
    assert found == [("ADDED", await other.get(PODS, namespace, "p"))]


async def test_both_faces_watch_the_same_events(faces: dict[str, Cluster], namespace: str) -> None:
    """Two watches of one collection, one through each face, see equal events."""
    start = (await faces["local"].list(CONFIGMAPS, namespace)).resource_version
    async with (
        closing(faces["local"].watch(CONFIGMAPS, start, namespace)) as local,
        closing(faces["https"].watch(CONFIGMAPS, start, namespace)) as https,
    ):
        for name in ("a", "b"):
            await faces["https"].create(CONFIGMAPS, namespace, named(name))
            await faces["local"].delete(CONFIGMAPS, namespace, name)
        assert (await take(local, 4))[:4] == (await take(https, 4))[:4]


async def test_a_watch_with_a_bad_selector_is_refused(cluster: Cluster, namespace: str) -> None:
    """The refusal arrives where the caller iterates."""

    async def first() -> None:
        async for _ in cluster.watch(CONFIGMAPS, "1", namespace, label_selector="a in ("):
            return

    found = await refusal(first())
    assert (found.code, found.reason) == (400, "BadRequest")


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return named(name, spec={"selector": {"matchLabels": labels}, "template": template})
