"""The smaller parts of a definition: printer columns, subresources, conversion."""

from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_STRATEGIES: Final = ("None", "Webhook")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_NOT_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"


def check_columns(columns: list[Object] | None, field: str) -> list[FieldError]:
    """Names, types and paths of printer columns."""
    return [
        error for index, column in enumerate(columns or ()) for error in _check_column(column, f"{field}[{index}]")
    ]


def _check_column(column: Object, field: str) -> list[FieldError]:
    kind, form, path = (column.get(key, "") for key in ("type", "format", "jsonPath"))
    one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
    errors = [] if column.get("name") else [fielderrors.required(f"{field}.name")]
    if not kind:
        errors.append(fielderrors.required(f"{field}.type", one_of))
    elif kind not in _COLUMN_TYPES:
        errors.append(fielderrors.invalid(f"{field}.type", kind, one_of))
    if form and form not in _COLUMN_FORMATS:
        text = f"must be one of {','.join(_COLUMN_FORMATS)}"
        errors.append(fielderrors.invalid(f"{field}.format", form, text))
    return errors + _check_path(path, f"{field}.JSONPath")


def _check_path(path: str, field: str, *places: str) -> list[FieldError]:
    """A dotted path, under one of some places if there are any."""
    if not path:
        return [fielderrors.required(field)]
    if not path.startswith("."):
        return [fielderrors.invalid(field, path, "must be a simple json path starting with .")]
    if places and not path.startswith(tuple(f".{place}." for place in places)):
        under = f".{places[0]}" if len(places) == 1 else "either .spec or .status"
        return [fielderrors.invalid(field, path, f"should be a json path under {under}")]
    return []


def check_subresources(subresources: Object | None, field: str) -> list[FieldError]:
    """Where a scale finds its numbers."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors = _check_path(scale.get("specReplicasPath", ""), f"{field}.scale.specReplicasPath", "spec")
    errors += _check_path(scale.get("statusReplicasPath", ""), f"{field}.scale.statusReplicasPath", "status")
    selector = scale.get("labelSelectorPath")
    if selector:
        errors += _check_path(selector, f"{field}.scale.labelSelectorPath", "spec", "status")
    return errors


def check_conversion(conversion: Object | None, field: str) -> list[FieldError]:
    """None, or a webhook with an address and a language."""
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    if not strategy:
        errors = [fielderrors.required(f"{field}.strategy")]
    elif strategy not in _STRATEGIES:
        errors = [fielderrors.not_supported(f"{field}.strategy", strategy, _STRATEGIES)]
    else:
        errors = []
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        errors += _check_client(client, f"{field}.webhookClientConfig")
        return errors + _check_review_versions(versions, f"{field}.conversionReviewVersions")
    if client is not None:
        errors.append(fielderrors.forbidden(f"{field}.webhookClientConfig", _NOT_WEBHOOK))
    if versions:
        errors.append(fielderrors.forbidden(f"{field}.conversionReviewVersions", _NOT_WEBHOOK))
    return errors


def _check_client(client: Object | None, field: str) -> list[FieldError]:
    if client is None:
        return [fielderrors.required(field, "required when strategy is set to Webhook")]
    if ("url" in client) == ("service" in client):
        return [fielderrors.required(field, "exactly one of url or service is required")]
    service = client.get("service", {"name": "-", "namespace": "-"})
    texts = {"name": "service name is required", "namespace": "service namespace is required"}
    return [
        fielderrors.required(f"{field}.service.{key}", text) for key, text in texts.items() if not service.get(key)
    ]


def _check_review_versions(versions: list[str], field: str) -> list[FieldError]:
    if not versions:
        return [fielderrors.required(field)]
    errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(fielderrors.invalid(f"{field}[{index}]", version, "duplicate version"))
            continue
        complaints = names.dns1035_label(version)
        errors += [fielderrors.invalid(f"{field}[{index}]", version, complaint) for complaint in complaints]
    if not set(versions) & set(_REVIEW_VERSIONS):
        text = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.append(fielderrors.invalid(field, versions, text))
    return errors
