"""What became of a request."""

from base64 import b64encode
from typing import Any

import msgspec
import pytest

from flexlet.core.certificates import answers
from flexlet.core.certificates.answers import Answer, Issued, Pending, Refused

APPROVED = {"type": "Approved", "status": "True", "reason": "AutoApproved"}
PEM = b64encode(b"pem").decode()


def raw(**status: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "csr-1", "uid": "u"}, "status": status})


@pytest.mark.parametrize(
    ("object_", "found"),
    [
        (raw(), Pending()),
        (raw(conditions=[APPROVED]), Pending()),
        (raw(certificate=PEM), Pending()),
        (raw(conditions=[APPROVED], certificate=PEM), Issued(b"pem")),
        (
            raw(conditions=[{"type": "Denied", "reason": "No", "message": "never"}], certificate=PEM),
            Refused("the request is denied: No: never"),
        ),
        (
            raw(conditions=[APPROVED, {"type": "Failed", "reason": "SignerValidationFailure"}]),
            Refused("the request failed: SignerValidationFailure"),
        ),
    ],
)
def test_the_status_tells(object_: bytes, found: Answer) -> None:
    assert answers.answer(object_, "csr-1", "u") == found


def test_others_requests_say_nothing_and_a_replaced_one_is_lost() -> None:
    issued = raw(conditions=[APPROVED], certificate=PEM)
    assert answers.answer(issued, "csr-2", "u") == Pending()
    assert answers.answer(issued, "csr-1", "v") == Refused("somebody replaced the request csr-1")
    assert answers.identity(issued) == ("csr-1", "u")
