"""Where a pod is in its life: Pending, Running, Succeeded or Failed.

The first rule that applies: a plain init container that failed for good makes it Failed; one that is not
through, a sidecar that has not started before the pod did, or a container that waits and never ran make it
Pending; a running container makes it Running; when all have ended, the exit codes decide, unless one will be
restarted. Sidecars that ended count for nothing. Follows `getPhase` of Kubernetes 1.36.3.
"""

from collections.abc import Mapping
from typing import Final

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.core.agent import runs
from flexlet.core.agent.status.before import Json
from flexlet.core.agent.status.states import ENDED, RUNS, WAITS

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"


def phase(pod: NodePod, entries: Mapping[str, Json], *, stopped: bool, initialized: bool) -> str:
    """The phase by the statuses of the containers.

    `stopped` says that nothing will be restarted whatever the policy, `initialized` that a regular container
    exists in the present sandbox.
    """
    init = pod.spec.init_containers
    plain = [each for each in init if not each.is_sidecar]
    if any(_failed_for_good(pod, each, entries[each.name]) for each in plain):
        return FAILED
    if any(_exit_code(entries[each.name]) is None for each in plain):
        return PENDING
    sidecars = [entries[each.name] for each in init if each.is_sidecar]
    if not initialized and any(RUNS in entry["state"] and not entry["started"] for entry in sidecars):
        return PENDING
    kept = [*sidecars, *(entries[each.name] for each in pod.spec.containers)]
    if any(WAITS in entry["state"] and ENDED not in entry["lastState"] for entry in kept):
        return PENDING
    if any(RUNS in entry["state"] for entry in kept):
        return RUNNING
    return _ended(pod, entries, stopped=stopped)


def _ended(pod: NodePod, entries: Mapping[str, Json], *, stopped: bool) -> str:
    """Everything has ended: whether it is over, and how."""
    codes = {each.name: _exit_code(entries[each.name]) or 0 for each in pod.spec.containers}
    if not stopped and any(runs.restarts(pod, each, codes[each.name]) for each in pod.spec.containers):
        return RUNNING
    # One that waits to be started again has not succeeded, whatever its last exit.
    good = all(entries[name]["state"].get(ENDED, {}).get("exitCode") == 0 for name in codes)
    return SUCCEEDED if good else FAILED


def _failed_for_good(pod: NodePod, container: NodeContainer, entry: Json) -> bool:
    code = _exit_code(entry)
    return code is not None and code != 0 and not runs.restarts(pod, container, code)


def _exit_code(entry: Json) -> int | None:
    """Of the end that counts now; None if the container runs or never ran."""
    state: Json = entry["state"]
    if WAITS in state:
        state = entry["lastState"]
    ended = state.get(ENDED)
    return None if ended is None else int(ended["exitCode"])
