"""Kinds and classes that a cluster of our own needs, put there when it starts."""

from typing import Any

from flexlet.api.status import NotFound
from flexlet.ports.cluster import Cluster, Ref


async def installed(cluster: Cluster, ref: Ref, body: dict[str, Any]) -> None:
    """Make it, or bring its spec up to date; what people added to it stays."""
    name = body["metadata"]["name"]
    try:
        await cluster.get(ref, "", name)
    except NotFound:
        await cluster.create(ref, "", body)
    else:
        await cluster.patch(ref, "", name, {key: body[key] for key in body if key == "spec"})
