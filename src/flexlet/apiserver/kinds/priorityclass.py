"""PriorityClasses; the two system classes are known by name and value."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, name_of

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_PREFIX: Final = "system-"
SYSTEM_CLASSES: Final = {
    "system-node-critical": 2 * HIGHEST_USER_PRIORITY + 1000,
    "system-cluster-critical": 2 * HIGHEST_USER_PRIORITY,
}
_POLICIES: Final = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(KindStrategy):
    """A number that pods may name; number and policy are settled at creation."""

    type_name = "scheduling.v1.PriorityClass"
    namespaced = False

    def fill(self, obj: Object) -> None:
        """Pods of a class push others out unless it says otherwise."""
        obj.setdefault("preemptionPolicy", _POLICIES[0])

    def prepare_create(self, obj: Object) -> None:
        """The generation never changes: nothing that counts can."""
        obj["metadata"]["generation"] = 1

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Only the change is looked at."""
        return [*metadata.validate_update(obj, old), *self.check_update(obj, old)]

    def check(self, obj: Object) -> list[FieldError]:
        """Names and numbers of the system are not for users."""
        errors = []
        name, value = name_of(obj), obj.get("value", 0)
        if name.startswith(SYSTEM_PREFIX):
            errors += _check_system_class(name, value, obj)
        elif value > HIGHEST_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            errors.append(fielderrors.forbidden("value", text))
        return errors + _check_policy(obj.get("preemptionPolicy"))

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Value and policy are for good."""
        errors = []
        if obj.get("value", 0) != old.get("value", 0):
            errors.append(fielderrors.forbidden("value", "may not be changed in an update."))
        policy = obj.get("preemptionPolicy")
        if policy != old.get("preemptionPolicy"):
            errors.append(fielderrors.invalid("preemptionPolicy", policy, "field is immutable"))
        return errors

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The number and what it allows."""
        return [
            name_of(obj),
            obj.get("value", 0),
            obj.get("globalDefault", False),
            age_of(obj, now),
            obj.get("preemptionPolicy", ""),
        ]


def _check_system_class(name: str, value: int, obj: Object) -> list[FieldError]:
    if name not in SYSTEM_CLASSES:
        reason = f"{name} is not a known system priority class"
    elif value != SYSTEM_CLASSES[name]:
        reason = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    elif obj.get("globalDefault"):
        reason = f"globalDefault of {name} PriorityClass must be false"
    else:
        return []
    text = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {reason}"
    return [fielderrors.forbidden("metadata.name", text)]


def _check_policy(policy: str | None) -> list[FieldError]:
    if policy is None or policy in _POLICIES:
        return []
    if not policy:
        return [fielderrors.required("preemptionPolicy")]
    return [fielderrors.not_supported("preemptionPolicy", policy, _POLICIES)]


PRIORITY_CLASS: Final = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    singular="priorityclass",
    namespaced=False,
    short_names=("pc",),
    schema="scheduling.v1.PriorityClass",
    strategy=PriorityClassStrategy(),
)
