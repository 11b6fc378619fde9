"""What a certificate request may say, and what of it may change on each path.

Approval is for good: Approved, Denied and Failed are never taken back, and only ``/approval`` adds the first two;
only ``/status`` sets the certificate, once. What an older server let through may stay.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.auth.requests import decoded
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.certificate import pem

APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"
MIN_EXPIRATION_S: Final = 600
MAX_SIGNER: Final = 2 * names.MAX_SUBDOMAIN + names.MAX_LABEL + 2
LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system"),
    *("ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc"),
    *("ocsp signing", "s/mime", "server auth", "signing", "timestamping"),
)
_STATUSES: Final = ("False", "True", "Unknown")
_CONDITIONS: Final = "status.conditions"
_CERTIFICATE: Final = "status.certificate"
_BOTH: Final = "Approved and Denied conditions are mutually exclusive"


class Permissions(msgspec.Struct, frozen=True):
    """What a path may write."""

    approve: bool = False
    certify: bool = False


def check_request(csr: Object, old: Object | None = None) -> list[FieldError]:
    """The rules of a request, new or changed."""
    spec = csr["spec"]
    errors = metadata.validate(csr, _any_name, namespaced=False)
    if complaint := pem.request_complaint(decoded(spec.get("request"))):
        errors.append(fielderrors.invalid("spec.request", spec.get("request") or "", complaint))
    errors += _check_usages(spec.get("usages", []), (old or {}).get("spec", {}).get("usages", []))
    errors += _check_signer(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < MIN_EXPIRATION_S:
        text = f"may not specify a duration less than {MIN_EXPIRATION_S} seconds (10 minutes)"
        errors.append(fielderrors.invalid("spec.expirationSeconds", seconds, text))
    errors += _check_conditions(_conditions(csr), _conditions(old))
    return errors + _check_certificate(csr, old or {})


def check_change(csr: Object, old: Object, allowed: Permissions) -> list[FieldError]:
    """The rules of a request, then those of its change on a path."""
    errors = check_request(csr, old)
    for kind in (APPROVED, DENIED, FAILED):
        now, before = (_of_kind(entry, kind) for entry in (csr, old))
        if len(now) < len(before):
            errors.append(
                fielderrors.forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')
            )
        elif now != before and not allowed.approve and kind != FAILED:
            deed = "add" if len(now) > len(before) else "modify"
            errors.append(
                fielderrors.forbidden(_CONDITIONS, f'updates may not {deed} a condition of type "{kind}"')
            )
    return [*errors, *_check_certificate_kept(csr, old, allowed), *metadata.validate_update(csr, old)]


def _check_certificate_kept(csr: Object, old: Object, allowed: Permissions) -> list[FieldError]:
    now, before = (entry["status"].get("certificate", "") for entry in (csr, old))
    if now == before:
        return []
    if not allowed.certify:
        return [fielderrors.forbidden(_CERTIFICATE, "updates may not set certificate content")]
    if before:
        return [fielderrors.forbidden(_CERTIFICATE, "updates may not modify existing certificate content")]
    return []


def _check_certificate(csr: Object, old: Object) -> list[FieldError]:
    certificate = csr["status"].get("certificate")
    changed = certificate != old.get("status", {}).get("certificate")
    complaint = pem.certificate_complaint(decoded(certificate)) if changed else ""
    return [fielderrors.invalid(_CERTIFICATE, "<certificate data>", complaint)] if complaint else []


def _any_name(_name: str) -> list[str]:
    """Requests may have any name that fits into a path, which is checked of everything."""
    return []


def _check_usages(usages: list[str], before: list[str]) -> list[FieldError]:
    errors = [] if usages else [fielderrors.required("spec.usages")]
    if set(before) <= set(USAGES):
        errors += [
            fielderrors.not_supported(f"spec.usages[{index}]", usage, USAGES)
            for index, usage in enumerate(usages)
            if usage not in USAGES
        ]
    if len(set(before)) == len(before):
        errors += [
            fielderrors.duplicate(f"spec.usages[{index}]", usage)
            for index, usage in enumerate(usages)
            if usage in usages[:index]
        ]
    return errors


def _check_signer(signer: str) -> list[FieldError]:
    field = "spec.signerName"
    if signer == LEGACY_SIGNER:
        text = "the legacy signerName is not allowed via this API version"
        return [fielderrors.invalid(field, signer, text)]
    if not signer:
        return [fielderrors.required(field)]
    domain, _, path = signer.partition("/")
    if signer.count("/") != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [fielderrors.invalid(field, signer, text)]
    errors = [fielderrors.too_long(field, names.MAX_SUBDOMAIN)] if len(domain) > names.MAX_SUBDOMAIN else []
    errors += _check_segment(domain, names.dns1123_label, field)
    if "." not in domain:
        text = "should be a domain with at least two segments separated by dots"
        errors.append(fielderrors.invalid(field, domain, text))
    errors += _check_segment(path, names.dns1123_subdomain, field)
    return [*errors, fielderrors.too_long(field, MAX_SIGNER)] if len(signer) > MAX_SIGNER else errors


def _check_segment(segment: str, rule: Callable[[str], list[str]], field: str) -> list[FieldError]:
    """The first label that breaks the rule; more would only repeat it."""
    for label in segment.split("."):
        if complaints := rule(label):
            return [
                fielderrors.invalid(field, segment, f'validating label "{label}": {text}') for text in complaints
            ]
    return []


def _check_conditions(conditions: list[Object], before: list[Object]) -> list[FieldError]:
    kinds_before = [entry.get("type", "") for entry in before]
    both_allowed = {APPROVED, DENIED} <= set(kinds_before)
    repeats_allowed = len(set(kinds_before)) < len(kinds_before)
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind, field = condition.get("type", ""), f"{_CONDITIONS}[{index}]"
        if not kind and "" not in kinds_before:
            errors.append(fielderrors.required(f"{field}.type"))
        errors += _check_status(kind, condition.get("status", ""), f"{field}.status")
        other = {APPROVED: DENIED, DENIED: APPROVED}.get(kind)
        if other in seen and not both_allowed:
            errors.append(fielderrors.invalid(_CONDITIONS, kind, _BOTH))
        if kind in seen and not repeats_allowed:
            errors.append(fielderrors.duplicate(f"{field}.type", kind))
        seen.add(kind)
    return errors


def _check_status(kind: str, status: str, field: str) -> list[FieldError]:
    allowed = ("True",) if kind in {APPROVED, DENIED, FAILED} else _STATUSES
    if not status:
        return [fielderrors.required(field)]
    return [] if status in allowed else [fielderrors.not_supported(field, status, allowed)]


def _conditions(csr: Object | None) -> list[Object]:
    found: list[Object] = (csr or {}).get("status", {}).get("conditions") or []
    return found


def _of_kind(csr: Object, kind: str) -> list[Object]:
    return [entry for entry in _conditions(csr) if entry.get("type") == kind]
