"""Taking charge of orphans that a selector matches, and letting go of what it no longer does.

Adoption must not race with the deletion of the owner, or the collector would take the adopted along with it. So
the owner is looked up past all watches first, and adopts in the round after, if it is still there.
"""

from collections.abc import Collection, Iterable
from typing import Any

from flexlet.core.actions import ApiAction, LookUp, PatchObject, Ref
from flexlet.core.controllers.controller import Controller
from flexlet.core.views.objects import ObjectView


class Adoption:
    """For owners of one kind and what they own."""

    def __init__(self, owners: Ref, owned: Ref, controller: Controller) -> None:
        self._owners = owners
        self._owned = owned
        self._controller = controller
        self._looked_up: set[str] = set()

    def adopt(
        self, owner: ObjectView, orphans: Collection[ObjectView], finalizers: tuple[str, ...] = ()
    ) -> list[ApiAction]:
        """The next step towards adopting these; the owner needs another look after it."""
        if not orphans or owner.deleting:
            self._looked_up.discard(owner.uid)
            return []
        if owner.uid not in self._looked_up:
            self._looked_up.add(owner.uid)
            return [LookUp(ref=self._owners, namespace=owner.namespace, name=owner.name, on_behalf_of=owner.uid)]
        self._looked_up.discard(owner.uid)
        metadata: dict[str, Any] = {"ownerReferences": [self._controller.reference(owner)]}
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        return [self._patch(owner, orphan, metadata) for orphan in orphans]

    def release(self, owner: ObjectView, strays: Iterable[ObjectView]) -> list[ApiAction]:
        """Let go of what is owned and no longer matches."""
        if owner.deleting:
            return []
        metadata = {"ownerReferences": [{"$patch": "delete", "uid": owner.uid}]}
        return [self._patch(owner, stray, metadata) for stray in strays]

    def start_over(self, owner: str) -> None:
        """A step was refused, or the owner is gone."""
        self._looked_up.discard(owner)

    def _patch(self, owner: ObjectView, thing: ObjectView, metadata: dict[str, Any]) -> ApiAction:
        return PatchObject(
            ref=self._owned,
            namespace=thing.namespace,
            name=thing.name,
            patch={"metadata": {"uid": thing.uid, **metadata}},
            kind="strategic",
            on_behalf_of=owner.uid,
        )
