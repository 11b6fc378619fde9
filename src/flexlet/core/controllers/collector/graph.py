"""Objects and who owns them, by uid."""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from flexlet.core.actions import Ref
from flexlet.core.views.objects import ObjectView

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_REMEMBERED: Final = 8192

Coordinates = tuple[Ref, str, str, str]
"""Resource, namespace, name, uid."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """An object that exists."""

    ref: Ref
    view: ObjectView
    revision: int

    @property
    def is_waiting(self) -> bool:
        """Whether it is deleted in the foreground: its dependents first."""
        return self.view.deleting and FOREGROUND in self.view.finalizers

    @property
    def is_orphaning(self) -> bool:
        """Whether it is being deleted and leaves its dependents behind."""
        return self.view.deleting and ORPHAN in self.view.finalizers


class Graph:
    """What exists, what is known not to, and who depends on whom."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, set[str]] = {}
        self._absent: OrderedDict[Coordinates, None] = OrderedDict()

    def get(self, uid: str) -> Item | None:
        """An object that exists."""
        return self._items.get(uid)

    def dependents(self, uid: str) -> list[Item]:
        """Objects that name the uid as an owner."""
        return [self._items[dependent] for dependent in self._dependents.get(uid, ())]

    def dependent_uids(self, uid: str) -> Collection[str]:
        """Their uids."""
        return self._dependents.get(uid, ())

    def put(self, item: Item) -> Item | None:
        """An object is there; what it was before."""
        uid = item.view.uid
        before = self._items.get(uid)
        self._items[uid] = item
        old, new = before.view.owners if before else (), item.view.owners
        if old is not new:
            self._unlink(uid, (owner.uid for owner in old))
            for owner in new:
                self._dependents.setdefault(owner.uid, set()).add(uid)
        return before

    def remove(self, uid: str) -> Item | None:
        """An object is gone; what it was."""
        item = self._items.pop(uid, None)
        if item is not None:
            self._unlink(uid, (owner.uid for owner in item.view.owners))
        return item

    def declare_absent(self, where: Coordinates) -> None:
        """Nothing is there, and a uid never comes back."""
        self._absent[where] = None
        while len(self._absent) > _REMEMBERED:
            self._absent.popitem(last=False)

    def is_absent(self, where: Coordinates) -> bool:
        """Whether it is known that nothing is there."""
        return where in self._absent

    def _unlink(self, uid: str, owners: Iterable[str]) -> None:
        for owner in owners:
            dependents = self._dependents.get(owner, set())
            dependents.discard(uid)
            if not dependents:
                self._dependents.pop(owner, None)
