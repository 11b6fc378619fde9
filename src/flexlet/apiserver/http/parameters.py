"""What the query and the content type of a write say: options and the type of a patch."""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import fielderrors, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import WriteOptions
from flexlet.apiserver.http import bodies
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.rest import deleteoptions, listoptions, patching
from flexlet.apiserver.rest.deleteoptions import DeleteOptions

PATCH_TYPES: Final = {
    "application/json-patch+json": patching.JSON,
    "application/merge-patch+json": patching.MERGE,
    "application/strategic-merge-patch+json": patching.STRATEGIC,
}
APPLY: Final = "application/apply-patch+yaml"
MAX_MANAGER_BYTES: Final = 128
FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")


def patch_type(exchange: Exchange, kind: Kind) -> str:
    """The patch's type; asked before anything else, so that whoever applies learns first that it is not served."""
    return patch_type_of(bodies.media_type(exchange.request.headers), custom=kind.custom)


def patch_type_of(media: str, *, custom: bool) -> str:
    """The patch type of a media type, or 415."""
    found = PATCH_TYPES.get(media)
    if found is not None and not (custom and found == patching.STRATEGIC):
        return found
    if custom or media == APPLY:
        offered = [name for name, short in PATCH_TYPES.items() if not (custom and short == patching.STRATEGIC)]
        raise bodies.unsupported(", ".join(offered))
    raise status.failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", status.StatusDetails())


def write_options(exchange: Exchange, kind_name: str) -> WriteOptions:
    """What the query says about a write; 422 on `kind_name` for what it cannot mean."""
    query = exchange.query
    if not query:
        return WriteOptions()
    errors = deleteoptions.dry_run_errors((query["dryRun"],) if query.get("dryRun") else ())
    validation = query.get("fieldValidation", "")
    if validation not in FIELD_VALIDATIONS:
        errors.append(fielderrors.not_supported("fieldValidation", validation, FIELD_VALIDATIONS))
    manager = query.get("fieldManager", "")
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        errors.append(fielderrors.too_long("fieldManager", MAX_MANAGER_BYTES))
    if not manager.isprintable():
        errors += _unprintable("fieldManager", manager)
    if kind_name == "PatchOptions" and "force" in query:
        errors.append(fielderrors.forbidden("force", "may not be specified for non-apply patch"))
    if errors:
        raise status.invalid(kind_name, "meta.k8s.io", "", errors)
    return WriteOptions(
        dry_run=bool(query.get("dryRun")),
        field_manager=manager,
        field_validation=validation or "Warn",
    )


def _unprintable(field: str, text: str) -> list[FieldError]:
    """Each character that cannot be shown, with its place in bytes."""
    return [
        fielderrors.invalid(
            field, text, f"invalid character U+{ord(char):04X} (at position {len(text[:index].encode())})"
        )
        for index, char in enumerate(text)
        if not char.isprintable()
    ]


def delete_query(query: Mapping[str, str]) -> DeleteOptions:
    """DeleteOptions from the query, for a DELETE without a body."""
    if not query:
        return deleteoptions.DEFAULT
    values: dict[str, Any] = {
        "grace_period_seconds": listoptions.number(query, "gracePeriodSeconds"),
        "orphan_dependents": listoptions.flag(query, "orphanDependents"),
        "propagation_policy": query.get("propagationPolicy"),
        "dry_run": (query["dryRun"],) if query.get("dryRun") else None,
    }
    return DeleteOptions(**values)
