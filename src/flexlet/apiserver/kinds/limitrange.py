"""LimitRanges: bounds and defaults for containers, pods and claims; admission applies them."""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.decode import quantity
from flexlet.api.fielderrors import FieldError
from flexlet.api.quantity import NANO, Quantity
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds import resourcelists
from flexlet.apiserver.kinds.strategy import KindStrategy, name_of
from flexlet.core.resources.rounding import round_list

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_NOT_FOR_PODS: Final = "may not be specified when `type` is 'Pod'"


class LimitRangeStrategy(KindStrategy):
    """The main and only path."""

    type_name = "core.v1.LimitRange"

    def fill(self, obj: Object) -> None:
        """A container's default is the maximum, its default request the default, then the minimum."""
        for index, item in enumerate(obj["spec"].get("limits") or ()):
            for key in _LISTS:
                round_list(item.get(key, {}), f"$.spec.limits[{index}].{key}")
            if item.get("type") == "Container":
                _fill_container(item)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The rules of a new one."""
        del old
        return self.validate(obj)

    def check(self, obj: Object) -> list[FieldError]:
        """Each item on its own, and each type only once."""
        items = obj["spec"].get("limits") or []
        seen: set[str] = set()
        errors = []
        for index, item in enumerate(items):
            field, kind = f"spec.limits[{index}]", item.get("type", "")
            errors += _check_type(kind, f"{field}.type")
            if kind in seen:
                errors.append(fielderrors.duplicate(f"{field}.type", kind))
            seen.add(kind)
            errors += _check_item(item, field)
        return errors

    def cells(self, obj: Object, now: float) -> list[Any]:
        """When it was created, as a time: clients make an age of it."""
        del now
        return [name_of(obj), obj["metadata"].get("creationTimestamp")]


def _fill_container(item: Object) -> None:
    default = {**item.get("max", {}), **item.get("default", {})}
    request = {**item.get("min", {}), **default, **item.get("defaultRequest", {})}
    for key, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            item[key] = amounts


def _check_type(kind: str, field: str) -> list[FieldError]:
    errors = [fielderrors.invalid(field, kind, complaint) for complaint in names.qualified_name(kind)]
    if not errors and "/" not in kind and kind not in _TYPES:
        errors.append(fielderrors.invalid(field, kind, "must be a standard limit type or fully qualified"))
    return errors


def _check_item(item: Object, field: str) -> list[FieldError]:
    kind = item.get("type", "")
    lists = [key for key in _LISTS if kind != "Pod" or not key.startswith("default")]
    check = resourcelists.check_container_name if kind in {"Pod", "Container"} else resourcelists.check_name
    errors = [
        error for key in lists for name in item.get(key, {}) for error in check(name, f"{field}.{key}[{name}]")
    ]
    errors += [
        fielderrors.forbidden(f"{field}.{key}", _NOT_FOR_PODS)
        for key in ("default", "defaultRequest")
        if kind == "Pod" and item.get(key)
    ]
    errors += _check_claims(item, field)
    resources = dict.fromkeys(name for key in lists for name in item.get(key, {}))
    for name in resources:
        bounds = {key: quantity(item[key][name]) for key in lists if name in item.get(key, {})}
        errors += _check_bounds(name, bounds, field)
    return errors


def _check_claims(item: Object, field: str) -> list[FieldError]:
    bounded = "storage" in item.get("min", {}) or "storage" in item.get("max", {})
    if item.get("type") != "PersistentVolumeClaim" or bounded:
        return []
    text = "either minimum or maximum storage value is required, but neither was provided"
    return [fielderrors.required(f"{field}.limits", text)]


_ORDERED: Final = (
    # smaller, larger, field to blame, whose value is shown, text
    ("min", "max", "min", "min", "min value {0} is greater than max value {1}"),
    (
        *("min", "defaultRequest", "defaultRequest", "defaultRequest"),
        "min value {0} is greater than default request value {1}",
    ),
    (
        *("defaultRequest", "max", "defaultRequest", "defaultRequest"),
        "default request value {0} is greater than max value {1}",
    ),
    (
        *("defaultRequest", "default", "defaultRequest", "defaultRequest"),
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "max", "default value {0} is greater than max value {1}"),
)


def _check_bounds(name: str, bounds: dict[str, Quantity], field: str) -> Iterator[FieldError]:
    for smaller, larger, blamed, shown, text in _ORDERED:
        if smaller in bounds and larger in bounds and bounds[smaller] > bounds[larger]:
            detail = text.format(bounds[smaller], bounds[larger])
            yield fielderrors.invalid(f"{field}.{blamed}[{name}]", bounds[shown], detail)
    yield from _check_ratio(bounds, f"{field}.maxLimitRequestRatio[{name}]")
    if {"default", "defaultRequest"} <= set(bounds) and not resourcelists.is_overcommitted(name):
        default, request = bounds["default"], bounds["defaultRequest"]
        if default != request:
            detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
            yield fielderrors.invalid(f"{field}.defaultRequest[{name}]", request, detail)


def _check_ratio(bounds: dict[str, Quantity], field: str) -> Iterator[FieldError]:
    ratio, low, high = (bounds.get(key) for key in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return
    if ratio.nano < NANO:
        yield fielderrors.invalid(field, ratio, f"ratio {ratio} is less than 1")
    if low is not None and high is not None:
        largest = high.milli / low.milli if low.milli else float("inf")
        if ratio.milli / 1000 > largest:
            yield fielderrors.invalid(field, ratio, f"ratio {ratio} is greater than max/min = {largest:f}")


LIMIT_RANGE: Final = Kind(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    singular="limitrange",
    namespaced=True,
    short_names=("limits",),
    schema="core.v1.LimitRange",
    strategy=LimitRangeStrategy(),
    create_on_update=True,
)
