"""Who belongs to whom: things sorted by the controller they name, and orphans by the owners that could adopt them.

Each kind of controller keeps a roster of its own and sees only its things there. A set of things is made when the
first of them or their owner is seen, whichever comes first: watches of different resources do not wait for each
other.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeAlias, TypeVar

from flexlet.api.selectors import LabelSelector
from flexlet.core.controllers.controller import Controller
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView

Thing: TypeAlias = PodView | ReplicaSetView
"""What can be owned."""

T = TypeVar("T", bound=Thing)


class Crew(Protocol[T]):
    """The things of one owner."""

    def get(self, uid: str) -> T | None:
        """The thing as last put."""
        ...

    def put(self, thing: T) -> None:
        """A thing joined or changed."""
        ...

    def remove(self, uid: str) -> None:
        """A thing left."""
        ...

    def is_empty(self) -> bool:
        """Whether nothing is left."""
        ...


class Family(dict[str, T]):
    """A crew that just remembers its members."""

    def put(self, thing: T) -> None:
        """Remember it as it is now."""
        self[thing.uid] = thing

    def remove(self, uid: str) -> None:
        """Forget it."""
        self.pop(uid, None)

    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not self


C = TypeVar("C", bound=Crew)  # type: ignore[type-arg]


class Roster(Generic[T, C]):
    """The things of all owners of one kind."""

    def __init__(self, controller: Controller, make: Callable[[], C]) -> None:
        self._controller = controller
        self._make = make
        self._crews: dict[str, C] = {}
        self._owner_of: dict[str, str] = {}
        self._selectors: dict[str, dict[str, LabelSelector]] = {}
        self._orphans: dict[str, dict[str, T]] = {}
        self._adoptable: dict[str, dict[str, T]] = {}

    def crew(self, owner: str) -> C:
        """The things of an owner."""
        crew = self._crews.get(owner)
        if crew is None:
            crew = self._crews[owner] = self._make()
        return crew

    def find(self, owner: str) -> C | None:
        """The things of an owner, if there are any."""
        return self._crews.get(owner)

    def adoptable(self, owner: str) -> list[T]:
        """Orphans that the owner's selector matches."""
        return list(self._adoptable.get(owner, {}).values())

    def owner_seen(self, uid: str, namespace: str, selector: LabelSelector) -> None:
        """An owner is there; orphans are searched when its selector is new."""
        claims = self._selectors.setdefault(namespace, {})
        if claims.get(uid) == selector:
            return
        claims[uid] = selector
        orphans = self._orphans.get(namespace, {})
        self._adoptable[uid] = {key: thing for key, thing in orphans.items() if selector.matches(thing.labels)}

    def owner_gone(self, uid: str, namespace: str) -> None:
        """An owner is gone; its things stay until they are gone too."""
        self._selectors.get(namespace, {}).pop(uid, None)
        self._adoptable.pop(uid, None)
        self._tidy(uid)

    def seen(self, thing: T) -> set[str]:
        """A thing was seen; the owners that need a look."""
        owner = thing.controller
        mine = owner.uid if owner is not None and self._controller.is_meant(owner) else ""
        touched: set[str] = set()
        if self._owner_of.get(thing.uid, mine) != mine:
            touched |= self._leave(thing.uid)
        self._forget_orphan(thing.uid, thing.namespace)
        if owner is None and not thing.deleting:
            touched |= self._orphan_seen(thing)
        if mine and self.crew(mine).get(thing.uid) != thing:
            self._owner_of[thing.uid] = mine
            self.crew(mine).put(thing)
            touched.add(mine)
        return touched

    def gone(self, uid: str, namespace: str) -> set[str]:
        """A thing is gone; the owners that need a look."""
        self._forget_orphan(uid, namespace)
        return self._leave(uid)

    def _orphan_seen(self, thing: T) -> set[str]:
        self._orphans.setdefault(thing.namespace, {})[thing.uid] = thing
        claims = self._selectors.get(thing.namespace, {})
        matching = {uid for uid, selector in claims.items() if selector.matches(thing.labels)}
        for uid in matching:
            self._adoptable[uid][thing.uid] = thing
        return matching

    def _forget_orphan(self, uid: str, namespace: str) -> None:
        orphans = self._orphans.get(namespace)
        if orphans is None or orphans.pop(uid, None) is None:
            return
        for owner in self._selectors.get(namespace, {}):
            self._adoptable[owner].pop(uid, None)

    def _leave(self, uid: str) -> set[str]:
        owner = self._owner_of.pop(uid, None)
        if owner is None:
            return set()
        if owner in self._crews:
            self._crews[owner].remove(uid)
            self._tidy(owner)
        return {owner}

    def _tidy(self, owner: str) -> None:
        crew = self._crews.get(owner)
        if crew is not None and crew.is_empty() and owner not in self._adoptable:
            del self._crews[owner]
