"""Bring a running pod to the size it was granted, one step at a time.

The plan is made anew after every step (`core.resize.actuation`); here it is decided when to ask for it, what must
be known first, and what people are told. Memory in use is read before limits go down. Containers whose
resizePolicy asks for it are stopped, and start again with the granted size when the pod's cgroup has it. After the
last step the pod is looked at once more, so that what is reported as done has been seen.

A step that fails leaves the rest of the plan as `actuation` says; then the whole attempt is made again after a
while. Differences of the pod's cgroup alone, without a resize, are repaired, but not more often than failures are
retried. Containers do not start while steps are due: they would not fit into a cgroup that has not grown yet.
"""

from flexlet.core.agent import delays, managing, setbacks
from flexlet.core.agent.deeds import Inspect, TakeStep
from flexlet.core.agent.lifecycle import killing, stopping, telling
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.foundations import cgroup_path
from flexlet.core.agent.lifecycle.killing import Stop
from flexlet.core.resize import actuation, conditions, events
from flexlet.core.resize.actuation import Facts, Plan
from flexlet.core.resize.allocation import IN_PLACE
from flexlet.core.resize.podcgroup import Kernel
from flexlet.core.resize.steps import Step, StopContainer, UpdateContainer
from flexlet.core.runtime.shown import RUNNING, UNKNOWN, Container


def proceed(draft: Draft) -> None:
    """Take the next step of a pod that lives and has a cgroup."""
    record = draft.record
    if record.allocation is None or not record.has_cgroup or not draft.setup.gates[IN_PLACE]:
        return
    if record.stopping_since is None and not stopping.must_stop(draft):
        draft.is_resizing = _is_due(draft)


def _is_due(draft: Draft) -> bool:
    """Whether steps are left to take now."""
    record = draft.record
    running = _running(draft)
    if _is_settled(draft, running):
        return False
    if "resize" in record.underway:
        return True
    if not _may_try(draft):
        return False
    facts = _facts(draft, running)
    needs_usage = facts.usage is None and bool(actuation.lowering(facts))
    plan = actuation.plan(facts, draft.record.failed_steps)
    if not plan.is_done and _is_early_repair(draft, facts):
        return False
    if (_awaits_start(draft) or _awaits_end(draft)) and (plan.steps or record.resize.in_progress is not None):
        return True
    if needs_usage:
        _progress(draft, facts)
        draft.issue(Inspect(uid=record.uid, usage=True))
        return True
    return _follow(draft, facts, plan, running)


def _awaits_start(draft: Draft) -> bool:
    """Whether a container is being made with the size that was granted when its start was decided.

    Until it runs nobody can change it, and its pod must not become smaller than it meanwhile.
    """
    for key in draft.record.underway:
        kind, _, name = key.partition("/")
        newest = draft.shown.newest(name) if kind == "container" else None
        if kind == "container" and (newest is None or newest.state != RUNNING):
            return True
    return False


def _awaits_end(draft: Draft) -> bool:
    """Whether a run goes on that the runtime has lost: nobody can change it, and it will be ended and replaced.

    Until then its pod must not become smaller than it.
    """
    return any(run.state == UNKNOWN and run.id in draft.record.doubts for run in draft.shown.containers)


def _running(draft: Draft) -> dict[str, Container]:
    """The runs that can be changed: those that go on, and those that stop because of the resize."""
    found: dict[str, Container] = {}
    for run in draft.shown.running:
        if not draft.is_stopping(run) or run.id in draft.record.replaced:
            found.setdefault(run.name, run)
    return found


def _is_settled(draft: Draft, running: dict[str, Container]) -> bool:
    """Whether nothing changed since nothing was left to do; asked at every decision, so it must be cheap."""
    record, known = draft.record, draft.record.settled
    if known is None or record.resize.in_progress is not None or record.unverified:
        return False
    allocation, actuated, cgroup, names = known
    same = record.allocation is allocation and record.actuated is actuated
    return same and record.cgroup == cgroup and running.keys() == names


def _may_try(draft: Draft) -> bool:
    """After a failure there is a pause; what that attempt has left goes on, and a new grant ends it."""
    record = draft.record
    if not _is_paused(draft):
        if record.failed_steps:
            draft.change(failed_steps=frozenset(), failures=(), taken=(), usage=None)
        return True
    draft.wake(record.retry_resize_at)
    return bool(record.failed_steps) or record.unverified


def _is_paused(draft: Draft) -> bool:
    progress = draft.record.resize.in_progress
    failed = progress is not None and progress.reason == conditions.ERROR
    return failed and draft.now < draft.record.retry_resize_at


def _is_early_repair(draft: Draft, facts: Facts) -> bool:
    """Whether the cgroup alone differs, without a resize, and was seen to not long ago."""
    record = draft.record
    if record.resize.in_progress is not None or draft.now >= record.retry_resize_at or actuation.changes(facts):
        return False
    draft.wake(record.retry_resize_at)
    return True


def _facts(draft: Draft, running: dict[str, Container]) -> Facts:
    record, setup = draft.record, draft.setup
    return Facts(
        pod=draft.allocated,
        actuated=record.actuated,
        running=frozenset(running),
        cgroup=record.cgroup,
        usage=record.usage,
        host=setup.host,
        settings=setup.cgroups,
        kernel=Kernel(page_size=setup.host.page_size, driver=setup.driver),
        gates=setup.gates,
        exclusive_cpus=managing.exclusive(record, setup),
    )


def _follow(draft: Draft, facts: Facts, plan: Plan, running: dict[str, Container]) -> bool:
    if plan.blocked:
        _fail(draft, plan.blocked)
        return False
    if not plan.steps:
        return _finish(draft, running)
    _progress(draft, facts)
    if isinstance(plan.steps[0], StopContainer):
        _stop(draft, plan.steps, running)
        return True
    return _take(draft, plan.steps[0], running)


def _fail(draft: Draft, message: str) -> None:
    """The attempt cannot go on; one that failed a moment ago is not counted again."""
    if _is_paused(draft):
        return
    record, told = setbacks.resize_failed(draft.record, draft.setup, message, draft.now)
    draft.record = record
    draft.change(usage=None, taken=())
    draft.tell(*told)
    draft.wake(record.retry_resize_at)


def _progress(draft: Draft, facts: Facts) -> None:
    """A resize goes on that nobody was told of; the repair of a cgroup is none."""
    is_resize = any(change.is_recorded for change in actuation.changes(facts))
    if is_resize and draft.record.resize.in_progress is None:
        generation = draft.pod.metadata.generation
        draft.change(resize=conditions.progressing(draft.record.resize, generation, draft.now))


def _stop(draft: Draft, steps: tuple[Step, ...], running: dict[str, Container]) -> None:
    for step in steps:
        if isinstance(step, StopContainer):
            reason = f"Container {step.container} resize requires restart"
            killing.stop(draft, Stop(running[step.container], reason, killing.grace(draft), replaces=True))


def _take(draft: Draft, step: Step, running: dict[str, Container]) -> bool:
    """A step that is due again although it was done was refused without a word."""
    if step in draft.record.taken:
        _fail(draft, f"{step.subject} does not keep what was written")
        return False
    run = running.get(step.container) if isinstance(step, UpdateContainer) else None
    sandboxes = draft.shown.sandboxes
    deed = TakeStep(
        uid=draft.record.uid,
        step=step,
        sandbox_id=sandboxes[0].id if sandboxes else "",
        container_id=run.id if run is not None else "",
        path=cgroup_path(draft),
    )
    return draft.issue(deed)


def _finish(draft: Draft, running: dict[str, Container]) -> bool:
    """No step is left to take: look once more, then say so if none failed and everybody is back."""
    record = draft.record
    if record.unverified:
        draft.issue(Inspect(uid=record.uid))
        return True
    if record.failed_steps or (record.resize.in_progress is not None and any(telling.replaced(draft))):
        return False
    after, generation = conditions.completed(record.resize)
    if generation is not None:
        draft.tell(events.completed(draft.allocated, generation))
    pause = delays.spread(record.uid, "repair", delays.SYNC_S, draft.now)
    assert record.allocation is not None  # noqa: S101 asked by the caller
    draft.change(
        resize=after,
        settled=(record.allocation, record.actuated, record.cgroup, frozenset(running)),
        retry_resize_at=draft.now + pause,
        usage=None,
        doubtful=frozenset(),
        taken=(),
    )
    return False
