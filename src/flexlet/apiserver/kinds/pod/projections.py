"""Projected volumes: several sources in one folder, which must not collide.

Sources behind gates that are off in 1.36 (clusterTrustBundle, podCertificate) are dropped before anybody looks.
"""

from flexlet.api.fielderrors import forbidden, invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.files import validate_downward_file, validate_key_to_path, validate_mode
from flexlet.apiserver.kinds.pod.paths import validate_file_name
from flexlet.apiserver.kinds.pod.scope import Errors

MIN_TOKEN_S = 600
MAX_TOKEN_S = 2**32
_CONFLICT = "conflicting duplicate paths"


def validate_projected(value: Object, path: str, errors: Errors) -> None:
    """All sources of a projected volume."""
    validate_mode(value.get("defaultMode"), f"{path}.defaultMode", errors)
    taken: set[str] = set()
    for i, source in enumerate(value.get("sources") or ()):
        _validate_source(source, path, f"{path}.sources[{i}]", taken, errors)


def _validate_source(source: Object, path: str, item: str, taken: set[str], errors: Errors) -> None:
    found = 0
    for key in ("secret", "configMap"):
        if (keyed := source.get(key)) is not None:
            found += 1
            _validate_keyed(keyed, path, f"{item}.{key}", taken, errors)
    if (files := source.get("downwardAPI")) is not None:
        found += 1
        for file in files.get("items") or ():
            validate_downward_file(file, f"{item}.downwardAPI", errors)
            _validate_free(file.get("path"), file.get("path"), path, taken, errors)
    if (token := source.get("serviceAccountToken")) is not None:
        found += 1
        _validate_token(token, path, f"{item}.serviceAccountToken", errors)
    if found > 1:
        errors.append(forbidden(item, "may not specify more than 1 volume type per source"))


def _validate_keyed(keyed: Object, path: str, item: str, taken: set[str], errors: Errors) -> None:
    if not keyed.get("name"):
        errors.append(required(f"{item}.name"))
    for i, entry in enumerate(keyed.get("items") or ()):
        validate_key_to_path(entry, f"{item}.items[{i}]", errors)
        _validate_free(entry.get("path"), keyed.get("name") or "", path, taken, errors)


def _validate_free(file: str | None, shown: str | None, path: str, taken: set[str], errors: Errors) -> None:
    if file:
        if file in taken:
            errors.append(invalid(path, shown, _CONFLICT))
        taken.add(file)


def _validate_token(token: Object, path: str, item: str, errors: Errors) -> None:
    """A service account token; upstream reports its path at the volume."""
    lifetime_s, file = token.get("expirationSeconds") or 0, token.get("path") or ""
    if lifetime_s < MIN_TOKEN_S:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{item}.expirationSeconds", lifetime_s, text))
    if lifetime_s > MAX_TOKEN_S:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{item}.expirationSeconds", lifetime_s, text))
    if not file:
        errors.append(required(f"{path}.path"))
    else:
        validate_file_name(file, f"{path}.path", errors)
