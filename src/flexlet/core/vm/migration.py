"""Moves a running machine from its pod to another one: the explicit way out when a node has no room.

How it is called: in each look at a machine, before its resize is decided, `look(scene, voices, now)`, where
`voices` holds the last report of each of its launchers by the uid of its pod (those that wait for a machine, too).
Of the answer, `actions` are done and `orders` told; `wake_at` is when to look again. `lost` is for moves of
machines that do not exist. While `Scene.is_moving` nothing is resized.

Order of things: a pod with room for what is wanted, on another node; Listen there, MigrateTo here; when the
machine runs there, the label that marks the pod as a target goes, which makes it the machine's own pod; then the
old pod is removed and the move has Succeeded. Whatever fails before leaves the source as it was and removes the
target. A move that is deleted is called off: a target without its move is found by its label.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.units import GIB
from flexlet.core.actions import ApiAction
from flexlet.core.vm import migrationdeeds as deeds
from flexlet.core.vm import migrationtarget
from flexlet.core.vm.guest import Listen, MigrateCancel, MigrateTo, Order, Report
from flexlet.core.vm.migratable import not_migratable
from flexlet.core.vm.objects import FlexVMMigration
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod

SCHEDULING_S: Final = 300.0
"""How long a target pod may find no node ..."""
PREPARING_S: Final = 300.0
"""... and may take to start there."""
COMPLETION_S: Final = 150.0
"""How long each GiB may take, and a move at least; KubeVirt's completionTimeoutPerGiB."""
_OVER: Final = frozenset({"Succeeded", "Failed"})
_RUNS: Final = frozenset({"Running", "Paused"})

Voices = Mapping[str, Report]


class Deeds(msgspec.Struct, frozen=True):
    """What a look has decided."""

    actions: tuple[ApiAction, ...] = ()
    orders: tuple[tuple[LauncherPod, Order], ...] = ()
    wake_at: float | None = None


class _Cast(msgspec.Struct, frozen=True, kw_only=True):
    """Who takes part in one move."""

    scene: Scene
    move: FlexVMMigration
    source: LauncherPod | None
    target: LauncherPod | None
    voices: Voices
    now: float

    @property
    def told(self) -> Report | None:
        """What the source says."""
        return self.voices.get(self.source.uid) if self.source else None

    @property
    def heard(self) -> Report | None:
        """What the target says."""
        return self.voices.get(self.target.uid) if self.target else None


def look(scene: Scene, voices: Voices, now: float) -> Deeds:
    """What the oldest unfinished move needs next; the others wait, and pods of finished ones go."""
    moves = sorted(scene.migrations, key=lambda m: (m.metadata.creation_timestamp or "", m.metadata.name))
    open_ = [move for move in moves if move.status.phase not in _OVER]
    found = [_next(_cast(scene, open_[0], voices, now))] if open_ else []
    found += [Deeds(tuple(deeds.queued(move, open_[0]))) for move in open_[1:]]
    found += [] if open_ else [_empty(scene, voices)]
    known = open_[0].metadata.uid if open_ else ""
    found += [_left(scene, pod, voices) for pod in scene.pods if pod.migration not in {"", known} and pod.is_live]
    return Deeds(
        tuple(action for each in found for action in each.actions),
        tuple(order for each in found for order in each.orders),
        min((each.wake_at for each in found if each.wake_at is not None), default=None),
    )


def _empty(scene: Scene, voices: Voices) -> Deeds:
    """The only launcher that is left has sent its machine to one that has ended: the machine is started anew."""
    live = [pod for pod in scene.pods if pod.is_live]
    told = voices.get(live[0].uid) if len(live) == 1 else None
    return (
        Deeds((deeds.removed(scene, live[0]),)) if told is not None and told.run_state == "Migrated" else Deeds()
    )


def lost(move: FlexVMMigration, now: float) -> list[ApiAction]:
    """A move of a machine that does not exist."""
    if move.status.phase in _OVER:
        return []
    return [
        deeds.ended(move, "Failed", f"there is no FlexVM {move.spec.vm_name}: name one of this namespace", now)
    ]


def _cast(scene: Scene, move: FlexVMMigration, voices: Voices, now: float) -> _Cast:
    name = move.status.target_pod or migrationtarget.name(scene, move)
    target = next((p for p in scene.pods if p.migration == move.metadata.uid or p.name == name), None)
    others = [p for p in scene.pods if p is not target and not p.migration]
    if move.status.source_pod:
        others = [p for p in others if p.name == move.status.source_pod]
    return _Cast(
        scene=scene, move=move, source=others[-1] if others else None, target=target, voices=voices, now=now
    )


def _next(cast: _Cast) -> Deeds:
    match cast.move.status.phase:
        case "" | "Pending":
            return _begin(cast)
        case "Scheduling":
            return _schedule(cast)
        case "Preparing":
            return _prepare(cast)
        case _:
            return _run(cast)


# ---- before anything moves


def _begin(cast: _Cast) -> Deeds:
    """Make the target pod, if the machine can be moved at all."""
    source, complaint = cast.source, _complaint(cast)
    if complaint:
        return Deeds((deeds.ended(cast.move, "Failed", complaint, cast.now),))
    if source is None or source.machine is None or cast.told is None:
        return Deeds()  # its launcher will be heard
    status = {
        "phase": "Scheduling",
        "sourcePod": source.name,
        "sourceNode": source.node,
        "targetPod": migrationtarget.name(cast.scene, cast.move),
        "startedAt": age.format_micro(cast.now),
        "message": "",
    }
    created = migrationtarget.create(cast.scene, cast.move, source, source.machine)
    return Deeds((deeds.status(cast.move, status), created), (), cast.now + SCHEDULING_S)


def _complaint(cast: _Cast) -> str:
    source, refusal = cast.source, not_migratable(cast.scene.vm)
    if source is None or not source.is_live or source.phase != "Running" or _is_silent(cast.told):
        return "the machine does not run: start it first"
    if refusal is not None:
        return f"{refusal[0]}: {refusal[1]}"
    if cast.move.spec.node_name and cast.move.spec.node_name == source.node:
        return f"the machine is on node {source.node} already: name another one, or none"
    return ""


def _is_silent(told: Report | None) -> bool:
    return told is not None and told.run_state not in {*_RUNS, "Starting"}


def _schedule(cast: _Cast) -> Deeds:
    """Wait for a node."""
    source, target, trouble = cast.source, cast.target, cast.scene.trouble
    due = deeds.moment(cast.move.status.started_at) + SCHEDULING_S
    if target is None:
        if trouble:
            return Deeds((deeds.ended(cast.move, "Failed", f"the new pod was refused: {trouble}", cast.now),))
        if source is None or source.machine is None or not source.is_live:
            return _fail(cast, "the machine has ended")
        created = migrationtarget.create(cast.scene, cast.move, source, source.machine)
        return Deeds((created,), (), due)
    failure = _broken(cast) or (_late("no node was found", target) if cast.now >= due else "")
    if failure:
        return _fail(cast, failure)
    if not target.node:
        return Deeds((), (), due)
    status = {"phase": "Preparing", "targetNode": target.node, "targetPod": target.name, "message": ""}
    return Deeds((deeds.status(cast.move, status),), (), due + PREPARING_S)


def _prepare(cast: _Cast) -> Deeds:
    """Wait for the launcher there, let it listen, and send."""
    source, target, heard = cast.source, cast.target, cast.heard
    due = deeds.moment(cast.move.status.started_at) + SCHEDULING_S + PREPARING_S
    failure = _broken(cast) or (_late("its new pod did not start", target) if cast.now >= due else "")
    if failure or source is None or target is None:
        return _fail(cast, failure)
    if heard is None or heard.run_state != "Incoming" or not target.address or cast.told is None:
        return Deeds((), (), due)
    place = migrationtarget.listening(cast.move, target)
    if place not in heard.message:
        return Deeds((), ((target, Listen(place)),), due)
    order = MigrateTo(migrationtarget.address(cast.move, target))
    return Deeds((deeds.status(cast.move, {"phase": "Running"}),), ((source, order),), _deadline(cast))


# ---- while it moves


def _run(cast: _Cast) -> Deeds:
    """Follow it, until the machine is at one end or the other."""
    source, target, told, heard = cast.source, cast.target, cast.told, cast.heard
    if target is not None and heard is not None and heard.run_state in _RUNS and _has_left(cast):
        return _arrived(cast, target)
    if target is not None and target.phase == "Running" and heard is None:
        return Deeds((), (), _deadline(cast))  # the machine may be in it
    if source is None or not source.is_live or target is None or not target.is_live:
        return _fail(cast, _broken(cast))
    if told is None:
        return Deeds((), (), _deadline(cast))
    place = migrationtarget.address(cast.move, target)
    if told.move.address != place:
        return Deeds((), ((source, MigrateTo(place)),), _deadline(cast))
    if told.move.state in {"Failed", "Cancelled"}:
        late = "it took too long and was called off" if cast.now >= _deadline(cast) else "it was called off"
        return _fail(cast, told.move.message or late)
    if told.move.state == "Active" and cast.now >= _deadline(cast):
        return Deeds((), ((source, MigrateCancel()),))
    return Deeds((), (), _deadline(cast) if cast.now < _deadline(cast) else None)


def _has_left(cast: _Cast) -> bool:
    """Whether the source has let go: it says so, or is no more."""
    told = cast.told
    if cast.source is None or not cast.source.is_live:
        return True
    return told is not None and (told.run_state == "Migrated" or told.move.state == "Completed")


def _arrived(cast: _Cast, target: LauncherPod) -> Deeds:
    """The pod becomes the machine's own, and only then the old one goes."""
    if target.migration:
        return Deeds((deeds.adopted(cast.scene, target),))
    move = cast.told.move if cast.told else None
    figures = {
        "transferredBytes": move.transferred if move else 0,
        "totalMilliseconds": move.total_ms if move else 0,
        "downtimeMilliseconds": move.downtime_ms if move else 0,
    }
    done = deeds.ended(cast.move, "Succeeded", "", cast.now, figures)
    source = cast.source
    gone = [deeds.removed(cast.scene, source)] if source is not None and not source.is_ending else []
    return Deeds((done, *gone))


def _deadline(cast: _Cast) -> float:
    memory = cast.told.memory if cast.told else 0
    begun = deeds.moment(cast.move.status.started_at) + SCHEDULING_S + PREPARING_S
    return begun + COMPLETION_S * max(1, -(-memory // GIB))


# ---- when it does not work


def _broken(cast: _Cast) -> str:
    """Why a move cannot go on, if one of its ends is gone."""
    source, target = cast.source, cast.target
    if source is None or not source.is_live:
        return "the machine has ended"
    if target is None:
        return "its new pod was deleted"
    if not target.is_live:
        return f"its new pod has ended: {target.end_message or 'it was deleted'}"
    return ""


def _late(text: str, target: LauncherPod | None) -> str:
    return f"{text}: {target.stuck}" if target is not None and target.stuck else f"{text} in time"


def _fail(cast: _Cast, message: str) -> Deeds:
    """The source goes on; the target goes, if no machine is in it."""
    failed = deeds.ended(cast.move, "Failed", message, cast.now)
    if cast.target is None or not cast.target.is_live:
        return Deeds((failed,))
    rest = _left(cast.scene, cast.target, cast.voices)
    return Deeds((failed, *rest.actions), rest.orders)


def _left(scene: Scene, pod: LauncherPod, voices: Voices) -> Deeds:
    """A target without a move: removed once nothing is on its way to it, kept if the machine is in it."""
    others = [p for p in scene.pods if p.is_live and not p.migration]
    source = others[-1] if others else None
    told, heard = (voices.get(source.uid) if source else None), voices.get(pod.uid)
    if source is not None and told is None:
        return Deeds()  # whoever sends must be heard first
    if told is not None and told.move.state == "Active" and source is not None:
        return Deeds((), ((source, MigrateCancel()),))
    has_left = told is None or told.run_state == "Migrated"
    if has_left and heard is None and pod.phase == "Running":
        return Deeds()  # the machine may be in it
    if has_left and heard is not None and heard.run_state in _RUNS:
        rest = [deeds.removed(scene, source)] if source is not None else []
        return Deeds((deeds.adopted(scene, pod), *rest))
    return Deeds((deeds.removed(scene, pod),))
