"""What all controllers of owned things know: the owners, what they have or might adopt, and who needs a look.

ReplicaSets, DaemonSets and Jobs own pods, Deployments own ReplicaSets; how they learn of both is the same. `fold`
answers with what became of owners, for the controller to add what only it knows. What to do about a due owner is
the controller's own affair.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from flexlet.core.actions import ApiAction, PatchObject, RecordEvent, Ref
from flexlet.core.controllers.adoption import Adoption
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.controllers.roster import Crew, Roster, Thing
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished, view_of
from flexlet.core.views.objects import ObjectView, OwnerView

V = TypeVar("V", bound=ObjectView)
O = TypeVar("O", bound=OwnerView)  # noqa: E741 - an owner
T = TypeVar("T", bound=Thing)
C = TypeVar("C", bound=Crew)  # type: ignore[type-arg]


class Sort(msgspec.Struct, Generic[V], frozen=True):
    """A resource and how it is looked at."""

    ref: Ref
    view: type[V]
    viewer: Callable[[bytes], tuple[V, int]]

    def view_of(self, seen: Seen) -> V:
        """An object of it as seen."""
        return view_of(seen, self.view, self.viewer)


class Changed(msgspec.Struct, Generic[O], frozen=True):
    """An owner is new, or not what it was."""

    owner: O
    before: O | None


class Gone(msgspec.Struct, Generic[O], frozen=True):
    """An owner is no more."""

    owner: O


class Refused(msgspec.Struct, Generic[O], frozen=True):
    """Something done for an owner was refused; the owner may be gone by now."""

    uid: str
    owner: O | None
    failed: Failed


class Owners(Generic[O, T, C]):
    """The owners of one kind, the things they have, and the events that are still to be told."""

    def __init__(self, controller: Controller, owners: Sort[O], things: Sort[T], make: Callable[[], C]) -> None:
        self._owners = owners
        self._things = things
        self._adoption = Adoption(owners.ref, things.ref, controller)
        self._known: dict[str, O] = {}
        self.things: Roster[T, C] = Roster(controller, make)
        self.queue = WorkQueue()
        self.untold: list[RecordEvent] = []

    def get(self, uid: str) -> O | None:
        """An owner as last seen."""
        return self._known.get(uid)

    def __iter__(self) -> Iterator[str]:
        """The uids of all owners."""
        return iter(self._known)

    def fold(self, observation: Observation) -> Iterable[Changed[O] | Gone[O] | Refused[O]]:
        """Learn one thing; what became of owners."""
        match observation:
            case Seen(ref=ref) if ref == self._things.ref:
                self._look_at(self.things.seen(self._things.view_of(observation)))
            case Seen(ref=ref) if ref == self._owners.ref:
                return self._seen(self._owners.view_of(observation))
            case Vanished(ref=ref, uid=uid) if ref == self._things.ref:
                self._look_at(self.things.gone(uid, observation.namespace))
            case Vanished(ref=ref, uid=uid) if ref == self._owners.ref:
                return self._gone(uid)
            case Absent(ref=ref, namespace=namespace, name=name) if ref == self._owners.ref:
                named = [o.uid for o in self._known.values() if (o.namespace, o.name) == (namespace, name)]
                return [news for uid in named for news in self._gone(uid)]
            case Failed():
                return self._refused(observation)
            case _:
                pass
        return ()

    def take_untold(self) -> list[ApiAction]:
        """The events to tell, which are told with that."""
        untold, self.untold = self.untold, []
        return [*untold]

    def adopt(self, owner: O, orphans: Collection[T], finalizers: tuple[str, ...] = ()) -> list[ApiAction]:
        """The next step towards adopting these; the owner is looked at again after it."""
        actions = self._adoption.adopt(owner, orphans, finalizers)
        if actions:
            self.queue.add(owner.uid)
        return actions

    def release(self, owner: O, strays: Iterable[T]) -> list[ApiAction]:
        """Let go of what is owned and no longer matches."""
        return self._adoption.release(owner, strays)

    def report(self, owner: O, patch: dict[str, Any], event: RecordEvent | None = None) -> PatchObject:
        """Write an owner's status, and what else of it goes the same way."""
        return PatchObject(
            ref=self._owners.ref,
            namespace=owner.namespace,
            name=owner.name,
            patch=patch,
            subresource="status",
            on_behalf_of=owner.uid,
            event=event,
        )

    def _look_at(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self.queue.add(uid)

    def _seen(self, owner: O) -> tuple[Changed[O], ...]:
        before = self._known.get(owner.uid)
        if before == owner:
            return ()
        if before is not None and before.generation != owner.generation:
            self.queue.forgive(owner.uid)
        self._known[owner.uid] = owner
        self.things.owner_seen(owner.uid, owner.namespace, owner.selector)
        self.queue.add(owner.uid)
        return (Changed(owner, before),)

    def _gone(self, uid: str) -> tuple[Gone[O], ...]:
        owner = self._known.pop(uid, None)
        if owner is None:
            return ()
        self.things.owner_gone(uid, owner.namespace)
        self._adoption.start_over(uid)
        self.queue.drop(uid)
        return (Gone(owner),)

    def _refused(self, failed: Failed) -> tuple[Refused[O], ...]:
        if isinstance(failed.action, RecordEvent) or not failed.action.on_behalf_of:
            return ()
        uid = failed.action.on_behalf_of
        owner = self._known.get(uid)
        if owner is not None:
            self._adoption.start_over(uid)
            self.queue.refused(uid)
        return (Refused(uid, owner, failed),)
