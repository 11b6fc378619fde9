"""Namespaces: phase, finalizers of their content, and the path that removes those.

A namespace carries two lists of finalizers: `metadata.finalizers` as everything does, and `spec.finalizers` for
its content, which only ``/finalize`` may change.
"""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.strategy import KindStrategy, StatusStrategy, age_of, keep, name_of

CONTENT_FINALIZER: Final = "kubernetes"
NAME_LABEL: Final = "kubernetes.io/metadata.name"


class NamespaceStrategy(KindStrategy):
    """The main path; phase and content finalizers are the server's."""

    type_name = "core.v1.Namespace"
    namespaced = False
    name_rule = staticmethod(names.dns1123_label)

    def fill(self, obj: Object) -> None:
        """A namespace can be selected by its name, and is active until it is deleted."""
        if name_of(obj):
            obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name_of(obj)
        obj["status"].setdefault("phase", "Active")

    def prepare_create(self, obj: Object) -> None:
        """Every namespace starts active, with its content protected."""
        obj["status"] = {"phase": "Active"}
        # A generated name is known only now.
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name_of(obj)
        finalizers = obj["spec"].setdefault("finalizers", [])
        if CONTENT_FINALIZER not in finalizers:
            finalizers.append(CONTENT_FINALIZER)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Neither status nor content finalizers change here."""
        keep(obj, old, "status")
        keep(obj["spec"], old.get("spec", {}), "finalizers")

    def check(self, obj: Object) -> list[FieldError]:
        """Content finalizers have names like all finalizers."""
        finalizers = obj["spec"].get("finalizers", ())
        return [error for name in finalizers for error in _check_finalizer(name, "spec.finalizers")]

    def fields(self, obj: Object) -> dict[str, str]:
        """Namespaces are found by phase."""
        return {"status.phase": obj.get("status", {}).get("phase", "")}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The phase."""
        return [name_of(obj), obj.get("status", {}).get("phase", ""), age_of(obj, now)]


class NamespaceStatusStrategy(StatusStrategy):
    """``/status``: the phase follows from the deletion timestamp."""

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Terminating if and only if it is being deleted."""
        del old
        phase = obj.get("status", {}).get("phase", "")
        deleted = bool(obj["metadata"].get("deletionTimestamp"))
        wanted, state = ("Terminating", "not empty") if deleted else ("Active", "empty")
        if phase == wanted:
            return []
        text = f"may only be '{wanted}' if `deletionTimestamp` is {state}"
        return [fielderrors.invalid("status.Phase", phase, text)]


class NamespaceFinalizeStrategy(StatusStrategy):
    """``/finalize``: the only way to change the content finalizers."""

    kept = ("status",)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """What is left must still be finalizers."""
        del old
        finalizers = obj.get("spec", {}).get("finalizers", ())
        return [
            error
            for index, name in enumerate(finalizers)
            for error in _check_finalizer(name, f"spec.finalizers[{index}]")
        ]


def _check_finalizer(name: str, field: str) -> list[FieldError]:
    errors = [fielderrors.invalid(field, name, complaint) for complaint in names.qualified_name(name)]
    if "/" not in name and name not in metadata.STANDARD_FINALIZERS:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(fielderrors.invalid(field, name, text))
    return errors


NAMESPACE: Final = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    singular="namespace",
    namespaced=False,
    short_names=("ns",),
    schema="core.v1.Namespace",
    strategy=NamespaceStrategy(),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    delete_answers_object=True,
    subresources=(
        Subresource(name="finalize", verbs=("update",), update=NamespaceFinalizeStrategy()),
        Subresource(name="status", verbs=("get", "patch", "update"), update=NamespaceStatusStrategy()),
    ),
)
