"""The statuses of a pod's containers.

The newest run that may be told of gives the state, the one before it ``lastState``. What the runtime no longer
has is remembered from the last status; a container that was running and vanished is said to be lost. Where the
next step is to start a container and the last attempt failed, it waits for the reason of that failure, and an
exit moves to ``lastState``. A container that is stopped in order to be started again is told to run until it
does again, as the kubelet does both in one go. Follows `convertToAPIContainerStatuses` of Kubernetes 1.36.3.
"""

from typing import Any, Final

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import VolumeMount
from flexlet.api.pod import ResourceRequirements
from flexlet.core.agent import runs
from flexlet.core.agent.probing import health
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.status import states
from flexlet.core.agent.status.before import Before, Json
from flexlet.core.agent.status.states import ENDED, RUNS, WAITS
from flexlet.core.resize import readback
from flexlet.core.resize.allocation import IN_PLACE
from flexlet.core.runtime.shown import EXITED, RUNNING, UNKNOWN, Container, ContainerUser

REGULAR: Final = "containerStatuses"
INIT: Final = "initContainerStatuses"
EPHEMERAL: Final = "ephemeralContainerStatuses"

_GONE_WHILE_RUNNING: Final = (
    "The container could not be located when the pod was deleted.  The container used to be Running"
)
_UNKNOWN_WHILE_RUNNING: Final = "The container could not be located when the pod was terminated"
_INIT_FORGOTTEN: Final = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the statuses of one pod are made from."""

    record: PodRecord
    setup: NodeSetup
    before: Before
    allocated: NodePod
    """The pod with the resources it was granted."""
    default: Json
    """The state of a container of which nothing is known."""
    message_room: int


def view(record: PodRecord, setup: NodeSetup, before: Before, allocated: NodePod) -> View:
    """The view of a record."""
    spec = record.pod.spec
    reason = "PodInitializing" if spec.init_containers else "ContainerCreating"
    return View(
        record=record,
        setup=setup,
        before=before,
        allocated=allocated,
        default=states.waiting(reason),
        message_room=states.message_room(
            len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers)
        ),
    )


def statuses(of: View) -> dict[str, list[Json]]:
    """The lists of statuses by the name of their field: regular ones by name, init containers as they start."""
    spec = of.allocated.spec
    found = {
        REGULAR: sorted((status(of, each, REGULAR) for each in spec.containers), key=_name),
        INIT: [status(of, each, INIT) for each in spec.init_containers],
        EPHEMERAL: sorted((status(of, each, EPHEMERAL) for each in spec.ephemeral_containers), key=_name),
    }
    return {name: entries for name, entries in found.items() if entries}


def status(of: View, container: NodeContainer, kind: str) -> Json:
    """The status of one container; `container` has the resources it was granted."""
    known = runs.seen(of.record, container.name)
    old = of.before.containers.get(container.name)
    newest = known[0] if known else None
    if old is not None and (_is_in_doubt(of, newest, old) or _is_being_replaced(of, newest, old)):
        return dict(old)
    entry = _of_run(of, container, known, old) if known else _of_memory(of, container, old)
    if not _is_done_init(of, container, kind, newest, entry):
        _let_wait(of, container, newest, entry)
    _add_health(of, container, kind, newest, entry)
    return entry


def _is_in_doubt(of: View, newest: Container | None, old: Json) -> bool:
    """Whether the runtime has lost a run which goes on."""
    if newest is not None and newest.state != UNKNOWN:
        return False
    known = str(old.get("containerID", "")).rpartition("/")[2]
    return RUNS in old["state"] and known in of.record.doubts


def _is_being_replaced(of: View, newest: Container | None, old: Json) -> bool:
    """Whether the run was stopped only to be started again, which is told when it has been."""
    return (
        newest is not None
        and newest.state == EXITED
        and newest.id in of.record.replaced
        and RUNS in old["state"]
        and of.record.reported is not None
        and of.record.stopping_since is None
        and newest.name not in of.record.troubles
    )


def _of_run(of: View, container: NodeContainer, known: tuple[Container, ...], old: Json | None) -> Json:
    newest = known[0]
    container_id = f"{of.setup.runtime_name}://{newest.id}"
    entry: Json = {
        "name": container.name,
        "state": _state(of, newest),
        "lastState": _last_state(of, known, container_id, old),
        "ready": False,
        "restartCount": states.restart_count(newest),
        "image": newest.image,
        "imageID": newest.image_ref,
        "containerID": container_id,
    }
    if old is not None:
        _join_old(newest, entry, old)
    if of.setup.gates[IN_PLACE]:
        entry |= readback.container_fields(container, _resources(of, container, newest, container_id))
    if container.volume_mounts:
        entry["volumeMounts"] = _mounts(of, container.volume_mounts)
    if newest.user is not None:
        entry["user"] = _user(newest.user)
    # Others may have a signal from their image; the kubelet tells of any only where stop signals are switched on.
    if newest.stop_signal and container.lifecycle is not None and container.lifecycle.stop_signal:
        entry["stopSignal"] = newest.stop_signal
    return entry


def _of_memory(of: View, container: NodeContainer, old: Json | None) -> Json:
    """The runtime has nothing of it."""
    entry: Json = {
        "name": container.name,
        "state": of.default,
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container.image,
        "imageID": "",
    }
    if container.volume_mounts:
        entry["volumeMounts"] = _mounts(of, container.volume_mounts)
    if old is None:
        return entry
    if ENDED in old["state"]:
        return entry | old
    entry["restartCount"], entry["lastState"] = old["restartCount"], old["lastState"]
    if RUNS in old["state"] and ENDED not in old["lastState"]:
        entry["lastState"] = states.lost(_GONE_WHILE_RUNNING)
        entry["restartCount"] += of.record.pod.metadata.deletion_timestamp is None
    return entry


def _join_old(newest: Container, entry: Json, old: Json) -> None:
    """What the last status knows better than the runtime."""
    entry["restartCount"] = max(entry["restartCount"], old["restartCount"])
    if newest.state == UNKNOWN and RUNS in old["state"]:
        entry["state"] = states.lost(_UNKNOWN_WHILE_RUNNING)
        entry["restartCount"] = old["restartCount"] + 1


def _state(of: View, run: Container) -> Json:
    container_id = f"{of.setup.runtime_name}://{run.id}"
    return states.state(run, container_id, of.record.messages.get(run.id, ""), of.message_room)


def _last_state(of: View, known: tuple[Container, ...], container_id: str, old: Json | None) -> Json:
    if len(known) > 1 and known[1].state == EXITED:
        return _state(of, known[1])
    if old is None:
        return {}
    # The runtime has forgotten the run before, or never had it.
    is_past = old.get("containerID") != container_id and ENDED in old["state"]
    remembered: Json = old["state"] if is_past else old["lastState"]
    return remembered


def _is_done_init(of: View, container: NodeContainer, kind: str, newest: Container | None, entry: Json) -> bool:
    """Whether it is an init container that never runs again; one that the runtime forgot is taken for done."""
    if kind != INIT:
        return False
    if newest is not None:
        return newest.state == EXITED and newest.exit_code == 0
    if container.is_sidecar or WAITS not in entry["state"] or not _has_regular(of):
        return False
    entry["state"] = {ENDED: {"exitCode": 0, "reason": "Completed", "message": _INIT_FORGOTTEN}}
    return True


def _has_regular(of: View) -> bool:
    found = (runs.seen(of.record, each.name) for each in of.allocated.spec.containers)
    return any(known and known[0].state != UNKNOWN for known in found)


def _let_wait(of: View, container: NodeContainer, newest: Container | None, entry: Json) -> None:
    """A container that shall be started and could not be waits for the reason of that."""
    trouble = of.record.troubles.get(container.name)
    if trouble is None or not runs.starts(of.record.pod, container, newest):
        return
    if ENDED in entry["state"]:
        entry["lastState"] = entry["state"]
    entry["state"] = states.waiting(trouble.reason, trouble.message)


def _add_health(of: View, container: NodeContainer, kind: str, newest: Container | None, entry: Json) -> None:
    """Ephemeral containers are never ready, and nobody says whether they have started."""
    if kind == EPHEMERAL:
        return
    running = newest if RUNS in entry["state"] else None
    if kind == INIT and not container.is_sidecar:
        entry["started"] = running is not None
        entry["ready"] = entry["state"].get(ENDED, {}).get("exitCode") == 0
        return
    entry["started"] = running is not None and health.started(of.record, of.setup, container, running)
    entry["ready"] = running is not None and health.ready(of.record, of.setup, container, running)


def _resources(
    of: View, container: NodeContainer, run: Container, container_id: str
) -> ResourceRequirements | None:
    if run.state != RUNNING:
        return None
    actuated = of.record.actuated.containers.get(container.name)
    told = _told(of.record.pod, container_id)
    return readback.container_resources(of.allocated, container, run.resources, actuated, told)


def _told(pod: NodePod, container_id: str) -> ResourceRequirements | None:
    """What the API says that this very run has."""
    found = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next(
        (each.resources for each in found if each.container_id == container_id and RUNS in each.state), None
    )


def _mounts(of: View, mounts: tuple[VolumeMount, ...]) -> list[Json]:
    return [_mount(of, mount) for mount in mounts]


def _mount(of: View, mount: VolumeMount) -> Json:
    entry: Json = {"name": mount.name, "mountPath": mount.mount_path}
    if mount.read_only:
        wished = mount.recursive_read_only or "Disabled"
        can = any(
            each.recursive_read_only_mounts
            for each in of.setup.handlers
            if each.name == (of.record.pod.spec.runtime_class_name or "")
        )
        entry |= {"readOnly": True, "recursiveReadOnly": "Enabled" if can and wished != "Disabled" else "Disabled"}
    return entry


def _user(user: ContainerUser) -> Json:
    linux: dict[str, Any] = {"uid": user.uid, "gid": user.gid}
    if user.supplemental_groups:
        linux["supplementalGroups"] = list(user.supplemental_groups)
    return {"linux": linux}


def _name(entry: Json) -> str:
    name: str = entry["name"]
    return name
