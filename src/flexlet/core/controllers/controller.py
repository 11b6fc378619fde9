"""One kind of controller: how ownerReferences and events name it, and what it does to pods in an owner's name."""

from typing import Any

import msgspec

from flexlet.api.meta import OwnerReference
from flexlet.core.actions import CreateObject, DeleteObject, RecordEvent
from flexlet.core.refs import PODS
from flexlet.core.views.objects import ObjectView


class Controller(msgspec.Struct, frozen=True):
    """The kind of the owners that a controller looks after."""

    api_version: str
    kind: str

    def is_meant(self, owner: OwnerReference) -> bool:
        """Whether a reference is to this kind, in whatever version."""
        group = self.api_version.rpartition("/")[0]
        return owner.kind == self.kind and owner.api_version.rpartition("/")[0] == group

    def reference(self, owner: ObjectView) -> dict[str, Any]:
        """The ownerReference of a controlled object."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def event(self, owner: ObjectView, kind: str, reason: str, message: str) -> RecordEvent:
        """Something to tell about an owner, in the controller's name."""
        about = {
            "kind": self.kind,
            "apiVersion": self.api_version,
            "namespace": owner.namespace,
            "name": owner.name,
            "uid": owner.uid,
        }
        component = f"{self.kind.lower()}-controller"
        return RecordEvent(about=about, type=kind, reason=reason, message=message, component=component)

    def create_pod(self, owner: ObjectView, body: dict[str, Any]) -> CreateObject:
        """A new pod for an owner."""
        return CreateObject(
            ref=PODS,
            namespace=owner.namespace,
            body=body,
            on_behalf_of=owner.uid,
            event=self.event(owner, "Normal", "SuccessfulCreate", "Created pod: {name}"),
        )

    def delete_pod(self, owner: ObjectView, pod: ObjectView) -> DeleteObject:
        """The end of an owner's pod."""
        return DeleteObject(
            ref=PODS,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            on_behalf_of=owner.uid,
            event=self.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}"),
        )
