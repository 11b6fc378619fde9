"""DeleteOptions: what a client may say about how an object goes, in the body or in the query."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import fielderrors, status
from flexlet.api.fielderrors import FieldError

POLICIES: Final = ("Foreground", "Background", "Orphan", "nil")


class Preconditions(msgspec.Struct, frozen=True):
    """The object must still be this one."""

    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How to delete; unset means the kind's own way."""

    kind: str | None = None
    api_version: str | None = None
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] | None = None


DEFAULT: Final = DeleteOptions()


def from_body(body: Mapping[str, Any]) -> DeleteOptions:
    """Read the body of a DELETE; what cannot be one is a 400."""
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if kind not in {None, "", "DeleteOptions"}:
        where = f'for version "{api_version or ""}" in scheme "pkg/runtime/scheme.go:111"'
        raise status.bad_request(f'no kind "{kind}" is registered {where}')
    try:
        return msgspec.convert(body, DeleteOptions)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"json: {error}") from None


def check(options: DeleteOptions) -> DeleteOptions:
    """The options themselves, or the 422 that names what contradicts itself."""
    errors = _errors(options)
    if errors:
        raise status.invalid("DeleteOptions", "meta.k8s.io", "", errors)
    return options


def _errors(options: DeleteOptions) -> list[FieldError]:
    found: list[FieldError] = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        found.append(fielderrors.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in POLICIES[:3]:
        found.append(fielderrors.not_supported("propagationPolicy", policy, POLICIES))
    found.extend(dry_run_errors(options.dry_run or ()))
    return found


def dry_run_errors(values: tuple[str, ...]) -> list[FieldError]:
    """Only ``All`` is known."""
    if all(value == "All" for value in values):
        return []
    return [fielderrors.not_supported("dryRun", list(values), ("All",))]
