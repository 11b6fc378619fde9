"""ResourceQuotas; what they count is admission's business, ``/status`` tells the result."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.decode import quantity
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, resourcelists
from flexlet.apiserver.kinds.quotascopes import check_scopes, check_selector
from flexlet.apiserver.kinds.strategy import KindStrategy, StatusStrategy, age_of, keep, name_of
from flexlet.core.resources.rounding import round_list

_WARNED: Final = ("cpu", "memory", "storage", "ephemeral-storage")
_MAY_BE_BARE: Final = ("cpu", "memory")


class ResourceQuotaStrategy(KindStrategy):
    """Limits for a namespace; the scopes are settled at creation."""

    type_name = "core.v1.ResourceQuota"

    def fill(self, obj: Object) -> None:
        """Amounts are canonical."""
        round_list(obj["spec"].get("hard", {}), "$.spec.hard")
        for key in ("hard", "used"):
            round_list(obj["status"].get(key, {}), f"$.status.{key}")

    def prepare_create(self, obj: Object) -> None:
        """Nothing is counted yet."""
        obj["status"] = {}

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status has its own path."""
        keep(obj, old, "status")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, spec, and scopes that stay."""
        errors = [*metadata.validate_update(obj, old), *_check_spec(obj["spec"])]
        scopes = obj["spec"].get("scopes")
        if set(scopes or ()) != set(old["spec"].get("scopes", ())):
            errors.append(fielderrors.invalid("spec.scopes", scopes, "field is immutable"))
        return errors

    def check(self, obj: Object) -> list[FieldError]:
        """Names, amounts, scopes."""
        return [*_check_spec(obj["spec"]), *_check_status(obj["status"])]

    def warnings(self, obj: Object) -> list[str]:
        """Requests that exceed limits can never be used up."""
        hard = obj["spec"].get("hard", {})
        return [warning for name in _WARNED for warning in _exceeding(hard, name)]

    def cells(self, obj: Object, now: float) -> list[Any]:
        """Used and hard, requests and limits apart."""
        status = obj.get("status", {})
        hard, used = status.get("hard", {}), status.get("used", {})
        shown = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
        limits = [text for name, text in shown.items() if name.startswith("limits.")]
        rest = [text for name, text in shown.items() if not name.startswith("limits.")]
        return [name_of(obj), ", ".join(rest), ", ".join(limits), age_of(obj, now)]


class ResourceQuotaStatusStrategy(StatusStrategy):
    """``/status``: what is used."""

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Names and amounts like in the spec."""
        del old
        return _check_status(obj["status"])


def _check_spec(spec: Object) -> list[FieldError]:
    return [*_check_amounts(spec.get("hard", {}), "spec.hard"), *check_scopes(spec), *check_selector(spec)]


def _check_status(status: Object) -> list[FieldError]:
    return [error for key in ("hard", "used") for error in _check_amounts(status.get(key, {}), f"status.{key}")]


def _check_amounts(amounts: Object, field: str) -> list[FieldError]:
    errors = []
    for name, amount in amounts.items():
        errors += resourcelists.check_quota_name(name, f"{field}[{name}]")
        errors += resourcelists.check_amount(name, amount, f"{field}[{name}]")
    return errors


def _exceeding(hard: Object, name: str) -> list[str]:
    request = f"requests.{name}"
    if request not in hard and name in _MAY_BE_BARE:
        request = name
    limit = f"limits.{name}"
    if request not in hard or limit not in hard or quantity(hard[request]) <= quantity(hard[limit]):
        return []
    return [f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"]


RESOURCE_QUOTA: Final = Kind(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    singular="resourcequota",
    namespaced=True,
    short_names=("quota",),
    schema="core.v1.ResourceQuota",
    strategy=ResourceQuotaStrategy(),
    delete_answers_object=True,
    subresources=(
        Subresource(name="status", verbs=("get", "patch", "update"), update=ResourceQuotaStatusStrategy()),
    ),
)
