"""Runs Jobs: pods, counts, conditions, and the deletion of Jobs that have been over for long enough.

Follows ``pkg/controller/job`` and ``ttlafterfinished``. A look settles the accounts, decides whether the Job ends,
and otherwise mans it.
"""

from functools import partial
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject
from flexlet.core.controllers import conditions, refusals
from flexlet.core.controllers.conditions import Condition
from flexlet.core.controllers.job import accounts, ending, manning, status
from flexlet.core.controllers.job.accounts import Accounts
from flexlet.core.controllers.job.backoff import Backoff
from flexlet.core.controllers.job.gang import FINALIZER, Gang, is_tracked
from flexlet.core.controllers.job.manning import CONTROLLER
from flexlet.core.controllers.owners import Gone, Owners, Refused, Sort
from flexlet.core.observations import Observation
from flexlet.core.refs import JOBS, PODS
from flexlet.core.views import job as jobs
from flexlet.core.views import pod as pods
from flexlet.core.views.job import JobView
from flexlet.core.views.pod import PodView

BURST: Final = 500


class JobDecider:
    """Owns the picture of all Jobs and of the pods they have or might adopt."""

    name = "job"

    def __init__(self) -> None:
        self._owners: Owners[JobView, PodView, Gang] = Owners(
            CONTROLLER, Sort(JOBS, JobView, jobs.view), Sort(PODS, PodView, pods.view), Gang
        )
        self._pods = self._owners.things
        self._queue = self._owners.queue
        self._backoffs: dict[str, Backoff] = {}

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        for news in self._owners.fold(observation):
            match news:
                case Gone(owner=job):
                    self._backoffs.pop(job.uid, None)
                    self._queue.add(job.uid)
                case Refused():
                    self._refused(news)
                case _:
                    pass

    def decide(self, now: float) -> ApiPlan:
        """What the Jobs that changed, or whose time has come, need."""
        actions = self._owners.take_untold()
        for uid in self._queue.take(now):
            if len(actions) >= BURST:
                self._queue.add(uid)
                continue
            job = self._owners.get(uid)
            look = partial(self._left_behind, uid) if job is None else partial(self._look, job, now)
            found = self._queue.attempt(uid, look, job.key if job else "")
            actions += found
            if not found:
                self._queue.forgive(uid)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def _look(self, job: JobView, now: float) -> list[ApiAction]:
        if job.managed_by != jobs.OWN_CONTROLLER:
            return []
        end = ending.finished(job)
        if end is not None:
            return self._left_behind(job.uid) or self._expire(job, end, now)
        gang = self._pods.crew(job.uid)
        strays = [pod for pod in gang.pods.values() if not job.selector.matches(pod.labels)]
        actions = self._owners.release(job, strays)
        actions += self._owners.adopt(job, self._pods.adoptable(job.uid), (FINALIZER,))
        return actions or self._work(job, gang, now)

    def _work(self, job: JobView, gang: Gang, now: float) -> list[ApiAction]:
        """One step of a Job that has not ended."""
        target = ending.decided(job)
        heading = conditions.text(target, "type")
        books = accounts.settle(job, gang, failing=heading == ending.FAILURE, succeeding=heading == ending.SUCCESS)
        self._backoffs.setdefault(job.uid, Backoff()).note(books.new_succeeded, books.new_failed)
        draft = status.Draft.of(job, now)
        target = target or ending.failure(job, gang, books, draft.started, now)
        actions: list[ApiAction] = [_release(job, pod) for pod in books.releasable]
        if target is not None:
            actions += [_delete(job, gang, pod) for pod in gang.active()]
        elif not job.deleting and not self._queue.held(job.uid):
            moves = self._man(job, gang, books, now)
            if any(isinstance(move, CreateObject) for move in moves):
                return actions + moves
            actions += moves
            target = ending.success(job, books, len(gang.active()), now)
            if target is None:
                draft.note_suspension(job, now)
        self._watch_deadline(job, draft)
        return actions + self._report(job, gang, books, draft, target, now)

    def _man(self, job: JobView, gang: Gang, books: Accounts, now: float) -> list[ApiAction]:
        """Create or delete pods, never both in one round."""
        active = gang.active()
        want = 0 if job.suspend else manning.wanted(job, len(active), books)
        doomed = manning.surplus(job, active, max(0, len(active) - want), now)[:BURST]
        if doomed:
            return [action for pod in doomed for action in _discard(job, gang, pod)]
        waiting = len(gang.terminating()) if job.only_replace_failed else 0
        missing = min(want - waiting - len(active), BURST)
        if missing <= 0:
            return []
        until = self._backoffs[job.uid].until()
        if until > now:
            self._queue.add_at(job.uid, until)
            return []
        return [CONTROLLER.create_pod(job, body) for body in manning.bodies(job, gang, books, missing)]

    def _watch_deadline(self, job: JobView, draft: "status.Draft") -> None:
        when = ending.deadline(job, draft.started)
        if when is not None:
            self._queue.add_at(job.uid, when)

    def _report(
        self,
        job: JobView,
        gang: Gang,
        books: Accounts,
        draft: "status.Draft",
        target: Condition | None,
        now: float,
    ) -> list[ApiAction]:
        decided = ending.decided(job)
        if target is not None and decided is None:
            draft.conditions.append(target)
            draft.start(now)
        elif decided is not None and status.is_over(gang, books):
            draft.finish(decided, now)
        wanted = status.reported(job, gang, books, draft)
        if wanted == job.status:
            return []
        event = CONTROLLER.event(job, *draft.event) if draft.event else None
        return [self._owners.report(job, {"status": status.value(wanted)}, event)]

    def _expire(self, job: JobView, end: Condition, now: float) -> list[ApiAction]:
        when = ending.expiry(job, end)
        if when is None:
            return []
        if when > now:
            self._queue.add_at(job.uid, when)
            return []
        return [
            DeleteObject(
                ref=JOBS,
                namespace=job.namespace,
                name=job.name,
                uid=job.uid,
                propagation="Foreground",
                on_behalf_of=job.uid,
            )
        ]

    def _left_behind(self, uid: str) -> list[ApiAction]:
        """Pods of a Job that is over or gone need not wait for anyone to count them."""
        gang = self._pods.find(uid)
        tracked = [pod for pod in gang.pods.values() if is_tracked(pod)] if gang else []
        return [_release_for(uid, pod) for pod in tracked]

    def _refused(self, refused: Refused[JobView]) -> None:
        """Also for a Job that is gone: its pods must still be let go."""
        self._queue.refused(refused.uid)
        action, job, gang = refused.failed.action, refused.owner, self._pods.find(refused.uid)
        if isinstance(action, DeleteObject) and gang is not None:
            gang.take_back(action.uid)
        if (
            isinstance(action, CreateObject)
            and job is not None
            and not refusals.is_ending_namespace(refused.failed)
        ):
            text = f"Error creating: {refused.failed.message}"
            self._owners.untold.append(CONTROLLER.event(job, "Warning", "FailedCreate", text))


def _delete(job: JobView, gang: Gang, pod: PodView) -> DeleteObject:
    gang.send_away(pod)
    return CONTROLLER.delete_pod(job, pod)


def _discard(job: JobView, gang: Gang, pod: PodView) -> list[ApiAction]:
    """Delete a pod that is not to count as failed: without its finalizer nobody looks at how it ends."""
    released: list[ApiAction] = [_release(job, pod)] if is_tracked(pod) else []
    return [*released, _delete(job, gang, pod)]


def _release(job: JobView, pod: PodView) -> PatchObject:
    return _release_for(job.uid, pod)


def _release_for(uid: str, pod: PodView) -> PatchObject:
    return PatchObject(
        ref=PODS,
        namespace=pod.namespace,
        name=pod.name,
        patch={"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}},
        kind="strategic",
        on_behalf_of=uid,
    )
