"""Whether a machine is to run: KubeVirt's run strategies, the power switch, and patience with crashes."""

from typing import Final, Literal

import msgspec

from flexlet.api import age
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVM, RunStrategy, StartFailure
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod

Deed = Literal["", "create", "delete", "wait"]

STEADY_S: Final = 60.0
"""A machine that ran so long had started well: its end is no failure to start."""
_FIRST_S: Final = 10.0
_LONGEST_S: Final = 300.0
_ENOUGH: Final = frozenset({"Succeeded", "Stopped"})


class Will(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of launcher pods, and what has to be remembered of it."""

    deed: Deed = ""
    pods: tuple[LauncherPod, ...] = ()
    """To be deleted."""
    power: str = ""
    """The switch's position that has been obeyed."""
    ended: str = ""
    failure: StartFailure | None = None
    wake_at: float | None = None


def strategy(vm: FlexVM) -> RunStrategy:
    """The run strategy; `running` is the older way to say it."""
    if vm.spec.run_strategy is not None:
        return vm.spec.run_strategy
    return "Halted" if vm.spec.running is False else "Always"


def will(scene: Scene, now: float) -> Will:
    """What the launcher pods need."""
    status, plan = scene.vm.status, strategy(scene.vm)
    failure = _failure(scene, now)
    kept = Will(power=status.power, ended=status.ended, failure=failure)
    if scene.vm.metadata.deletion_timestamp is not None or plan == "Halted":
        return _stop(scene, msgspec.structs.replace(kept, power=_switch(scene), ended="", failure=None))
    switch = _switch(scene)
    if switch != status.power:
        return _switched(scene, kept, switch, now)
    live = scene.pod
    if live is not None:
        return _keep(scene, msgspec.structs.replace(kept, ended=""))
    ended = _ending(scene) or status.ended
    kept = msgspec.structs.replace(kept, ended=ended)
    if plan == "Manual" or (plan == "RerunOnFailure" and ended in _ENOUGH):
        return kept
    return _start(scene, kept, now)


def _switch(scene: Scene) -> str:
    return scene.vm.metadata.annotations.get(names.POWER, "")


def _switched(scene: Scene, kept: Will, switch: str, now: float) -> Will:
    """The power switch was moved; it counts as obeyed when that can be seen, not before."""
    action = switch.partition("@")[0]
    done = msgspec.structs.replace(kept, power=switch, ended="")
    if action in {"Stop", "Restart"} and _is_for(scene, action):
        stopped = msgspec.structs.replace(done, ended="Stopped" if action == "Stop" else "", failure=None)
        return _stop(scene, kept) if any(p.is_live for p in scene.pods) else stopped
    if action == "Start" and scene.pod is None and _is_for(scene, action):
        return _start(scene, msgspec.structs.replace(kept, failure=None), now)
    return done


def _is_for(scene: Scene, action: str) -> bool:
    return action == "Restart" or strategy(scene.vm) in {"Manual", "RerunOnFailure"}


def _keep(scene: Scene, kept: Will) -> Will:
    """Ended pods beside a live one make way; one on no node yet is made anew if another machine is wanted."""
    over = tuple(p for p in scene.pods if p.is_over and not p.is_ending)
    pod = scene.pod
    if pod is not None and not pod.node and not scene.is_moving and pod.machine != scene.boot:
        over = (*over, pod)
    return msgspec.structs.replace(kept, deed="delete", pods=over) if over else kept


def _stop(scene: Scene, kept: Will) -> Will:
    rest = tuple(p for p in scene.pods if not p.is_ending)
    if not scene.pods:
        return kept
    return msgspec.structs.replace(kept, deed="delete" if rest else "wait", pods=rest)


def _start(scene: Scene, kept: Will, now: float) -> Will:
    """A new pod when the old one is gone, and not too soon after one that failed."""
    failure = kept.failure
    until = (
        age.parse(failure.retry_after_timestamp).timestamp() if failure and failure.retry_after_timestamp else 0.0
    )
    if now < until:
        return msgspec.structs.replace(kept, deed="wait", wake_at=until)
    over = tuple(p for p in scene.pods if not p.is_ending)
    if scene.pods:
        return msgspec.structs.replace(kept, deed="delete" if over else "wait", pods=over)
    return msgspec.structs.replace(kept, deed="create")


def _ending(scene: Scene) -> str:
    """How the last machine ended by itself."""
    over = [p for p in scene.pods if p.is_over and not p.migration]
    return over[-1].phase if over else ""


def _failure(scene: Scene, now: float) -> StartFailure | None:
    """Failures in a row; forgotten when a machine has run for a while."""
    known = scene.vm.status.start_failure
    failed = [p for p in scene.pods if p.phase == "Failed" and not p.migration]
    if not failed or (known is not None and known.last_failed_uid == failed[-1].uid):
        heard = scene.heard
        is_steady = scene.report is not None and heard is not None and now >= heard.since + STEADY_S
        return None if is_steady else known
    last = failed[-1]
    before = known.consecutive_fail_count if known is not None and last.ran_s < STEADY_S else 0
    wait_s = 0.0 if not before else min(_FIRST_S * 2 ** (before - 1), _LONGEST_S)
    return StartFailure(
        consecutive_fail_count=before + 1,
        last_failed_uid=last.uid,
        retry_after_timestamp=age.format_seconds(now + wait_s) if wait_s else "",
    )
