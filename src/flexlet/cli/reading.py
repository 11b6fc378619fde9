"""What commands ask a cluster for."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from flexlet.api import age, decode
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.api.status import Forbidden, Invalid, NotFound
from flexlet.cli.connection import connect
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.sizes import node as detail
from flexlet.core.sizes import nodes, pods
from flexlet.core.sizes import wish as wishes
from flexlet.core.sizes.node import Event, NodeDetails
from flexlet.core.sizes.nodes import NodeSizes
from flexlet.core.sizes.pods import PodSizes
from flexlet.core.sizes.wish import Outcome, Wish
from flexlet.errors import ConfigError
from flexlet.ports.cluster import EVENTS, NODES, PODS, Cluster, Ref

NODE_SIZES: Final = Ref(*names.NODE_SIZES)
_NOT_ALLOWED: Final = re.compile(r'User ".*" cannot ')

T = TypeVar("T")


async def of_cluster(kubeconfig: str | None, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    """Connect, ask, hang up."""
    async with connect(kubeconfig) as cluster:
        return await ask(cluster)


async def node_sizes(cluster: Cluster) -> list[NodeSizes]:
    """All nodes with what is on them."""
    wished = await wishes_made(cluster)
    return nodes.of_nodes(await listed(cluster, NODES, Node), await listed(cluster, PODS, Pod), wished)


async def wishes_made(cluster: Cluster) -> list[NodeSize]:
    """All NodeSizes; none where the kind is not known, or not for everyone to see."""
    try:
        return await listed(cluster, NODE_SIZES, NodeSize)
    except (NotFound, Forbidden):
        return []


async def node_details(cluster: Cluster, name: str) -> NodeDetails:
    """One node with all that belongs to it."""
    node = await get_node(cluster, name)
    held = await listed(cluster, PODS, Pod, field_selector=f"spec.nodeName={name}")
    return detail.details(node, held, await get_wish(cluster, name), await node_events(cluster, name))


async def pod_sizes(cluster: Cluster, namespace: str) -> list[PodSizes]:
    """The pods of a namespace, or all."""
    return pods.of_pods(await listed(cluster, PODS, Pod, namespace))


async def get_node(cluster: Cluster, name: str) -> Node:
    """A node; ConfigError names those there are."""
    try:
        return decode.from_json(await cluster.get(NODES, "", name), Node)
    except NotFound:
        known = sorted(each.metadata.name for each in await listed(cluster, NODES, Node))
        hint = f"there are {', '.join(known)}" if known else "the cluster has no nodes"
        raise ConfigError(f"there is no node {name}: {hint}") from None


async def get_wish(cluster: Cluster, name: str) -> NodeSize | None:
    """The NodeSize of a node, None if there is none or the kind is not known."""
    try:
        return decode.from_json(await cluster.get(NODE_SIZES, "", name), NodeSize)
    except NotFound:
        return None


async def make_wish(cluster: Cluster, name: str, wish: Wish, now: float) -> None:
    """Let the node's NodeSize say it, whether there is one or not; ConfigError where the kind is not known."""
    request = age.format_micro(now)
    try:
        await cluster.patch(NODE_SIZES, "", name, wishes.patch(wish, request))
    except NotFound:
        try:
            await cluster.create(NODE_SIZES, "", wishes.body(wish, name, request))
        except NotFound:
            raise ConfigError(
                "this cluster does not know NodeSize: `flexlet print-manifests | kubectl apply -f -` teaches it,"
                " and `flexlet controllers` does what NodeSizes say"
            ) from None


async def get_pod(cluster: Cluster, namespace: str, name: str) -> Pod:
    """A pod; ConfigError names those there are."""
    try:
        return decode.from_json(await cluster.get(PODS, namespace, name), Pod)
    except NotFound:
        known = sorted(each.metadata.name for each in await listed(cluster, PODS, Pod, namespace))
        hint = f"there are {', '.join(known)}" if known else "there are no pods"
        raise ConfigError(f"there is no pod {name} in namespace {namespace}: {hint}") from None


async def resize_pod(cluster: Cluster, namespace: str, name: str, body: dict[str, Any]) -> Outcome | None:
    """Ask for another size; the refusal, if the API refuses it. Who may not ask at all gets the API's error."""
    try:
        await cluster.patch(PODS, namespace, name, body, kind="strategic", subresource="resize")
    except (Invalid, Forbidden) as error:
        return refusal(error)
    return None


def refusal(error: Invalid | Forbidden) -> Outcome:
    """What the API refuses, as the end of a wish; who may not even ask gets the error."""
    if _NOT_ALLOWED.search(str(error)):
        raise error
    return Outcome("Refused", error.reason, str(error))


async def node_events(cluster: Cluster, name: str) -> list[Event]:
    """What was told about a node and about its size."""
    about = f"involvedObject.name={name}"
    told = await listed(cluster, EVENTS, Event, field_selector=about)
    return [each for each in told if each.involved_object.get("kind") in {"Node", names.KIND}]


async def listed(
    cluster: Cluster, ref: Ref, kind: type[T], namespace: str = "", *, field_selector: str = ""
) -> list[T]:
    """The objects of a list, decoded."""
    listing = await cluster.list(ref, namespace, field_selector=field_selector)
    return [decode.from_json(item, kind) for item in listing.items]
