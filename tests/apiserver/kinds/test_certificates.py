"""Certificate requests: who may write what on which path."""

import base64

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import TIME, Record

from flexlet.apiserver.contract.kind import UpdateStrategy
from flexlet.apiserver.contract.request import AdmissionRequest, User
from flexlet.apiserver.kinds.certificate import pem
from flexlet.apiserver.kinds.certificate.requester import CertificateRequester

KIND = recordings.kind_of("certificatesigningrequests", "certificates.k8s.io")
LATER = "2027-01-01T00:00:00Z"


def request(status: Record | None = None, **spec: object) -> Record:
    """A request that is fine, changed."""
    obj: Record = {
        "metadata": {"name": "c", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "request": recordings.certificate_request(),
            "signerName": "example.com/signer",
            "usages": ["client auth"],
            **spec,
        },
        "status": status or {},
    }
    KIND.strategy.default(obj)
    return obj


def condition(kind: str, **more: str) -> Record:
    return {"type": kind, "status": "True", **more}


def path(name: str) -> UpdateStrategy:
    """The rules of a path."""
    sub = KIND.subresource(name)
    assert sub is not None
    assert sub.update is not None
    return sub.update


@pytest.mark.parametrize("case", recordings.scenarios("certificates"))
def test_rules_of_a_new_request(case: Record) -> None:
    """The words of kube-apiserver."""
    assert [str(error) for error in KIND.strategy.validate(request(**case["spec"]))] == case["errors"]


def test_an_unknown_usage_lists_the_known_ones() -> None:
    """Sorted, as kubectl users know them."""
    (error,) = KIND.strategy.validate(request(usages=["fly"]))
    assert error.field == "spec.usages[0]"
    assert error.message.startswith(
        'Unsupported value: "fly": supported values: "any", "cert sign", "client auth"'
    )


def test_the_caller_is_stamped_whatever_the_client_wrote() -> None:
    """Nobody asks in another's name."""
    obj = request(username="spoofed", groups=["system:masters"], extra={"a": ["b"]})
    assert obj["spec"].keys() == {"request", "signerName", "usages"}
    user = User(name="alice", uid="7", groups=("devs",), extra={"k": ("v",)})
    call = AdmissionRequest(
        operation="CREATE", user=user, kind=KIND, subresource="", namespace="", name="c", obj=obj
    )
    CertificateRequester().mutate(call, None)  # type: ignore[arg-type]
    stamped = {key: obj["spec"][key] for key in ("username", "uid", "groups", "extra")}
    assert stamped == {"username": "alice", "uid": "7", "groups": ["devs"], "extra": {"k": ["v"]}}


def test_the_main_path_changes_neither_spec_nor_status() -> None:
    """Only metadata."""
    old = request({"conditions": [condition("Approved", lastUpdateTime=TIME, lastTransitionTime=TIME)]})
    obj = request(signerName="example.com/other")
    KIND.strategy.prepare_update(obj, old)
    assert obj == old
    assert KIND.strategy.validate_update(obj, old) == []


def test_approval_adds_conditions_and_dates_them() -> None:
    """The rest of the status stays as it was."""
    old = request({"certificate": "eA=="})
    obj = request({"conditions": [condition("Approved")], "certificate": "c3Bvb2ZlZA=="})
    path("approval").prepare_update(obj, old)
    dated = condition("Approved", lastUpdateTime=TIME, lastTransitionTime=TIME)
    assert obj["status"] == {"certificate": "eA==", "conditions": [dated]}
    assert path("approval").validate_update(obj, old) == []


def test_status_keeps_approvals_and_the_times_of_transitions() -> None:
    """The signer cannot rewrite what the approver said."""
    approved = condition("Approved", reason="R", lastUpdateTime=LATER, lastTransitionTime=LATER)
    failed = condition("Failed", lastUpdateTime=LATER, lastTransitionTime=LATER)
    old = request({"conditions": [approved, failed]})
    obj = request({"conditions": [condition("Approved", reason="Other"), condition("Failed", reason="F")]})
    path("status").prepare_update(obj, old)
    renewed = condition("Failed", reason="F", lastUpdateTime=TIME, lastTransitionTime=LATER)
    assert obj["status"] == {"conditions": [approved, renewed]}
    assert path("status").validate_update(obj, old) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "wanted"),
    [
        (
            "status",
            {},
            {"conditions": [condition("Approved")]},
            ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
        ),
        (
            "approval",
            {"conditions": [condition("Denied")]},
            {},
            ['status.conditions: Forbidden: updates may not remove a condition of type "Denied"'],
        ),
        (
            "status",
            {"certificate": "eA=="},
            {},
            ["status.certificate: Forbidden: updates may not modify existing certificate content"],
        ),
        (
            "approval",
            {},
            {"conditions": [{"type": "Approved", "status": "False"}, {"type": "X"}, condition("")]},
            [
                'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
                "status.conditions[1].status: Required value",
                "status.conditions[2].type: Required value",
            ],
        ),
    ],
)
def test_what_a_path_refuses(name: str, before: Record, after: Record, wanted: list[str]) -> None:
    """Decisions are for good, and certificates are set once."""
    assert [str(error) for error in path(name).validate_update(request(after), request(before))] == wanted


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", ""),
        (b"hello", "must contain at least one CERTIFICATE PEM block"),
        (b"-----BEGIN X-----\nAA==\n-----END X-----\n", 'only CERTIFICATE PEM blocks are allowed, found "X"'),
        (b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", "x509: malformed certificate"),
    ],
)
def test_what_a_certificate_must_be(data: bytes, wanted: str) -> None:
    """PEM, nothing but certificates."""
    assert pem.certificate_complaint(data) == wanted


def test_a_request_with_a_broken_signature_is_refused() -> None:
    """Whoever asks must hold the key."""
    good = base64.b64decode(recordings.certificate_request())
    lines = good.splitlines()
    body = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    body[-1] ^= 1
    broken = b"\n".join([lines[0], base64.b64encode(bytes(body)), lines[-1], b""])
    assert pem.request_complaint(good) == ""
    assert pem.request_complaint(broken) in {
        "x509: signature does not match",
        "asn1: structure error: malformed certificate request",
    }
