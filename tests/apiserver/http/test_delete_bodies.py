"""The body of a DELETE: DeleteOptions in JSON or protobuf, refused in Go's words."""

import pytest

from flexlet.api import protobuf
from flexlet.api.status import ApiError
from flexlet.apiserver.http import bodies
from flexlet.apiserver.http.accept import JSON, PROTOBUF
from flexlet.apiserver.rest.deleteoptions import DeleteOptions, Preconditions


def text(number: int, value: bytes) -> bytes:
    """A protobuf field of bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def packed(message: bytes, kind: bytes = b"DeleteOptions") -> bytes:
    """A message in the envelope that clients of Go send."""
    return protobuf.MAGIC + text(1, text(1, b"v1") + text(2, kind)) + text(2, message)


def refusal(data: bytes, media: str) -> object:
    with pytest.raises(ApiError) as caught:
        bodies.delete_options(data, media)
    assert caught.value.status.code == 400
    return caught.value.status.message


def test_protobuf_options_are_read() -> None:
    """`kubectl drain --disable-eviction` sends them so."""
    message = bytes([1 << 3, 0]) + text(2, text(1, b"some-uid")) + text(4, b"Background")
    assert bodies.delete_options(packed(message), PROTOBUF) == DeleteOptions(
        kind="DeleteOptions",
        api_version="v1",
        grace_period_seconds=0,
        preconditions=Preconditions(uid="some-uid"),
        propagation_policy="Background",
    )


@pytest.mark.parametrize("data", [b"", b"nonsense", protobuf.MAGIC + b"\xff", packed(b"\x12\x05")])
def test_broken_protobuf_is_a_bad_request(data: bytes) -> None:
    """Whatever the bytes are, there is an answer."""
    assert refusal(data, PROTOBUF)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'{"gracePeriodSeconds":"1"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            b'{"preconditions":{"uid":5}}',
            "json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID",
        ),
        (
            b'{"dryRun":"All"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string",
        ),
        (b'{"apiVersion":"v1/x/y"}', "unexpected GroupVersion string: v1/x/y"),
        (
            b'{"kind":"Pod","apiVersion":"v1"}',
            'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        (b'{"a":', "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    ],
)
def test_wrong_json_is_refused_in_gos_words(data: bytes, message: str) -> None:
    """As kube-apiserver 1.36.3 answers them."""
    assert refusal(data, JSON) == message
