"""What the strategies of all kinds but Pod share: shape, metadata rules, age.

A kind says what is its own: `fill` (defaults), `check` (rules of an object), `check_update` (rules of a change).
Most kinds run the rules of new objects on every update as well, metadata included, so an error may be reported
more than once, as upstream does. What is checked of any kind's metadata besides is the pipeline's business
(`metadata.validate_common`).
"""

from typing import Any

from flexlet.api import age, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object, Strategy, UpdateStrategy
from flexlet.apiserver.kinds import metadata, shape
from flexlet.apiserver.kinds.columns import COLUMNS


class KindStrategy(Strategy):
    """The main path of a kind; subclasses name their type and add what is theirs."""

    type_name: str
    """The kind's type in `shape.json`: ``core.v1.ConfigMap``."""
    namespaced: bool = True
    name_rule: metadata.NameRule = staticmethod(names.dns1123_subdomain)

    def __init_subclass__(cls) -> None:
        """A kind's columns are those recorded under its name."""
        kind = getattr(cls, "type_name", "").rpartition(".")[2]
        if kind in COLUMNS:
            cls.columns = COLUMNS[kind]

    def default(self, obj: Object) -> None:
        """Give the object its shape, then the kind's defaults."""
        shape.settle(obj, self.type_name)
        self.fill(obj)

    def fill(self, obj: Object) -> None:
        """The kind's own defaults; the shape is settled before."""

    def validate(self, obj: Object) -> list[FieldError]:
        """Metadata, then the kind's own rules."""
        return [*metadata.validate(obj, self.name_rule, namespaced=self.namespaced), *self.check(obj)]

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, the rules of a change, the rules of a new object."""
        return [
            *metadata.validate_update(obj, old),
            *self.check_update(obj, old),
            *self.validate(obj),
        ]

    def check(self, obj: Object) -> list[FieldError]:
        """What is wrong with an object, new or changed, besides its metadata."""
        del obj
        return []

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """What is wrong with the change itself."""
        del obj, old
        return []

    def cells(self, obj: Object, now: float) -> list[Any]:
        """Name and age."""
        return [name_of(obj), age_of(obj, now)]


class StatusStrategy(UpdateStrategy):
    """The ``/status`` path: everything but status, labels and annotations stays as it is."""

    kept: tuple[str, ...] = ("spec",)
    """Top-level fields that this path ignores."""

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Put back what is not status."""
        keep(obj, old, *self.kept)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, then the status."""
        return [*metadata.validate_update(obj, old), *self.check_update(obj, old)]

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """What is wrong with the status or its change."""
        del obj, old
        return []


def keep(obj: Object, old: Object, *fields: str) -> None:
    """Take top-level fields from `old`, absence included."""
    for field in fields:
        if field in old:
            obj[field] = old[field]
        else:
            obj.pop(field, None)


def count_generation(obj: Object, old: Object, *, changed: bool) -> None:
    """The generation of a changed object; nobody else may set it."""
    generation = old["metadata"].get("generation", 0) + changed
    if generation:
        obj["metadata"]["generation"] = generation


def name_of(obj: Object) -> str:
    """The name, empty if there is none."""
    name: str = obj["metadata"].get("name", "")
    return name


def age_of(obj: Object, now: float) -> str:
    """How long ago the object was created, for people."""
    return age.since(obj["metadata"].get("creationTimestamp"), now)
