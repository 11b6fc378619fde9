"""The CertificateSigningRequest kind: nothing but metadata changes on its main path."""

from collections.abc import Callable
from typing import Any, Final

from flexlet.api import age
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource, UpdateStrategy
from flexlet.apiserver.kinds.certificate import requester
from flexlet.apiserver.kinds.certificate.rules import (
    APPROVED,
    DENIED,
    FAILED,
    Permissions,
    check_change,
    check_request,
)
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, keep, name_of

Clock = Callable[[], float]
_PATH_VERBS: Final = ("get", "patch", "update")


class CertificateStrategy(KindStrategy):
    """The main path."""

    type_name = "certificates.v1.CertificateSigningRequest"
    namespaced = False

    def fill(self, obj: Object) -> None:
        """Who asks is not for the client to say; admission stamps it."""
        requester.clear(obj)

    def prepare_create(self, obj: Object) -> None:
        """Nothing is decided yet."""
        obj["status"] = {}

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Decisions and certificates have paths of their own."""
        keep(obj, old, "spec", "status")

    def validate(self, obj: Object) -> list[FieldError]:
        """The rules of a new request."""
        return check_request(obj)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Neither conditions nor certificate may differ."""
        return check_change(obj, old, Permissions())

    def fields(self, obj: Object) -> dict[str, str]:
        """Signers look for their own."""
        return {"spec.signerName": obj.get("spec", {}).get("signerName", "")}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """Who asks whom for how long, and what became of it."""
        spec = obj["spec"]
        seconds = spec.get("expirationSeconds")
        return [
            name_of(obj),
            age_of(obj, now),
            spec.get("signerName") or "<none>",
            spec.get("username", ""),
            "<none>" if seconds is None else age.human(seconds),
            _state(obj["status"]),
        ]


class CertificateStatusStrategy(UpdateStrategy):
    """``/status``: the signer's path."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Spec and approval stay; conditions get their times."""
        keep(obj, old, "spec")
        for kind in (APPROVED, DENIED):
            _keep_conditions(obj, old, kind)
        _stamp_conditions(obj, old, self._clock())

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """A certificate may be set, once."""
        return check_change(obj, old, Permissions(certify=True))


class CertificateApprovalStrategy(UpdateStrategy):
    """``/approval``: only the conditions count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Everything but the conditions stays."""
        _stamp_conditions(obj, old, self._clock())
        conditions = obj["status"].get("conditions")
        keep(obj, old, "spec", "status")
        obj["status"] = {**obj.get("status", {}), "conditions": conditions}
        if not conditions:
            del obj["status"]["conditions"]

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Approved and Denied may be added."""
        return check_change(obj, old, Permissions(approve=True))


def _keep_conditions(obj: Object, old: Object, kind: str) -> None:
    """Put back conditions of a type, as long as there are as many as before."""
    conditions = obj["status"].get("conditions") or []
    before = [entry for entry in old.get("status", {}).get("conditions") or () if entry.get("type") == kind]
    places = [index for index, entry in enumerate(conditions) if entry.get("type") == kind]
    if len(before) == len(places):
        for index, entry in zip(places, before, strict=True):
            conditions[index] = entry


def _stamp_conditions(obj: Object, old: Object, now: float) -> None:
    """Conditions without times get them; an unchanged one keeps the time of its transition."""
    stamp = age.format_seconds(now)
    transitions = {
        (entry.get("type"), entry.get("status")): entry.get("lastTransitionTime")
        for entry in reversed(old.get("status", {}).get("conditions") or ())
    }
    for condition in obj["status"].get("conditions") or ():
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or stamp
        before = transitions.get((condition.get("type"), condition.get("status")))
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or before or stamp


def _state(status: Object) -> str:
    kinds = {condition.get("type") for condition in status.get("conditions") or ()}
    state = "Denied" if DENIED in kinds else "Approved" if APPROVED in kinds else "Pending"
    failed = ",Failed" if FAILED in kinds else ""
    return f"{state}{failed},Issued" if status.get("certificate") else f"{state}{failed}"


def certificate_kind(clock: Clock) -> Kind:
    """Certificate requests; the clock dates their conditions."""
    return Kind(
        group="certificates.k8s.io",
        version="v1",
        kind="CertificateSigningRequest",
        plural="certificatesigningrequests",
        singular="certificatesigningrequest",
        namespaced=False,
        short_names=("csr",),
        schema="certificates.v1.CertificateSigningRequest",
        strategy=CertificateStrategy(),
        subresources=(
            Subresource(name="approval", verbs=_PATH_VERBS, update=CertificateApprovalStrategy(clock)),
            Subresource(name="status", verbs=_PATH_VERBS, update=CertificateStatusStrategy(clock)),
        ),
    )
