"""Whether a node is ready, and if not, every reason for it in one text."""

from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.core.node.facts import NodeFacts
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from flexlet.core.runtime.shown import RuntimeCondition, RuntimeStatus

RUNTIME_PATIENCE_S: Final = 30.0
"""How long ago the runtime may have said that it is ready."""


def problems(facts: NodeFacts, capacity: ResourceList, now: float, *, storage_is_counted: bool) -> str:
    """Everything that is wrong, empty for a node that is ready; several are listed in brackets."""
    required = (CPU, MEMORY, PODS, EPHEMERAL_STORAGE) if storage_is_counted else (CPU, MEMORY, PODS)
    missing = [name for name in required if name not in capacity]
    found = [*_runtime(facts, now), *facts.problems, *_network(facts.runtime)]
    if facts.shutting_down:
        found.append("node is shutting down")
    if missing:
        found.append(f"missing node capacity for resources: {', '.join(missing)}")
    return _together(found)


def _runtime(facts: NodeFacts, now: float) -> Iterator[str]:
    if facts.runtime_ready_at is None:
        yield "container runtime status check may not have completed yet"
    elif now - facts.runtime_ready_at >= RUNTIME_PATIENCE_S:
        yield "container runtime is down"
    if facts.runtime is not None:
        condition = facts.runtime.condition("RuntimeReady")
        if not condition.status:
            yield f"container runtime not ready: {_text(condition)}"


def _network(runtime: RuntimeStatus | None) -> Iterator[str]:
    if runtime is None:
        yield "network state unknown"
        return
    condition = runtime.condition("NetworkReady")
    if not condition.status:
        yield f"container runtime network not ready: {_text(condition)}"


def _text(condition: RuntimeCondition) -> str:
    status = "true" if condition.status else "false"
    return f"{condition.type}={status} reason:{condition.reason} message:{condition.message}"


def _together(found: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(found))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
