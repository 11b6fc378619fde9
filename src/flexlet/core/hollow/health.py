"""What a hollow node says of its health: always that it is well, also when others have lost faith in it.

A node controller that hears nothing for a while writes Unknown over a node's conditions. It takes the node itself
to say otherwise, as it takes a kubelet.
"""

from collections.abc import Iterable
from typing import Any

from flexlet.api.meta import Condition
from flexlet.core.hollow.machine import CONDITIONS, conditions


def is_well(said: Iterable[Condition]) -> bool:
    """Whether the API says of a node what it says itself."""
    found = {condition.type: condition.status for condition in said}
    return all(found.get(kind) == status for kind, status, _, _ in CONDITIONS)


def was_ready(said: Iterable[Condition]) -> bool:
    """Whether the API has the node as Ready."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in said)


def posted(said: Iterable[Condition], now: float) -> list[dict[str, Any]]:
    """A node's own conditions; one that was true all the time keeps the moment since when it is."""
    since = {(before.type, before.status): before.last_transition_time for before in said}
    return [
        own | {"lastTransitionTime": since.get((own["type"], own["status"])) or own["lastTransitionTime"]}
        for own in conditions(now)
    ]
