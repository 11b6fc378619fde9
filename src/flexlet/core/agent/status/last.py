"""The last word on a pod whose containers and sandboxes are stopped: nothing in it may look as if it went on.

A container of which nobody knows how it ended is said to be lost, so that no pod passes for successful by
default. Those that the pod never came to (after an init container that did not finish) keep waiting. Follows
`TerminatePod` of Kubernetes 1.36.3.
"""

from typing import Final

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.status import states
from flexlet.core.agent.status.before import Json
from flexlet.core.agent.status.containers import INIT, REGULAR
from flexlet.core.agent.status.states import ENDED, RUNS, WAITS

_LOST: Final = states.lost("The container could not be located when the pod was terminated")


def close(pod: NodePod, lists: dict[str, list[Json]]) -> None:
    """Give every container that was ever due an end."""
    init, regular = lists.get(INIT, []), lists.get(REGULAR, [])
    if _came_to_regular(pod, init, regular):
        _end(regular)
    _end(init[: _tried(init)])


def _end(entries: list[Json]) -> None:
    for entry in entries:
        if ENDED not in entry["state"]:
            entry["state"] = _LOST


def _came_to_regular(pod: NodePod, init: list[Json], regular: list[Json]) -> bool:
    if not init or any(_was_tried(entry) for entry in regular):
        return True
    last = init[-1]
    if pod.spec.init_containers[-1].is_sidecar:
        return RUNS in last["state"] and bool(last["started"])
    return any(last[key].get(ENDED, {}).get("exitCode") == 0 for key in ("state", "lastState"))


def _tried(init: list[Json]) -> int:
    """How many init containers were due; the first one always was."""
    tried = [number for number, entry in enumerate(init, 1) if _was_tried(entry)]
    return tried[-1] if tried else 1


def _was_tried(entry: Json) -> bool:
    return WAITS not in entry["state"] or ENDED in entry["lastState"]
