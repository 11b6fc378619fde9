"""Protobuf bodies: what kubectl sends, and what nobody should send."""

import base64
import contextlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api import recordings

from flexlet.api import protobuf, schema

BODIES = recordings.lines("protobuf_bodies.jsonl")


def opened(line: dict[str, Any]) -> tuple[schema.Type, protobuf.Envelope]:
    envelope = protobuf.envelope(base64.b64decode(line["base64"]))
    meta = schema.interpret({"apiVersion": envelope.api_version, "kind": envelope.kind})
    kind = schema.type_for(meta.group, meta.version, meta.kind)
    assert kind is not None
    return kind, envelope


def missing_or_else(sent: Any, answered: Any, path: str = "") -> list[str]:
    """Paths where the answer lacks what was sent or has something else; what it adds is the server's business."""
    if isinstance(sent, dict) and isinstance(answered, dict):
        return [at for key in sent for at in missing_or_else(sent[key], answered.get(key), f"{path}.{key}")]
    if isinstance(sent, list) and isinstance(answered, list) and len(sent) == len(answered):
        pairs = enumerate(zip(sent, answered, strict=True))
        return [at for index, (one, other) in pairs for at in missing_or_else(one, other, f"{path}[{index}]")]
    return [] if sent == answered else [path]


@pytest.mark.parametrize("line", BODIES, ids=lambda line: line["command"][15:60])
def test_what_kubectl_sends(line: dict[str, Any]) -> None:
    """A recorded body is the object the server answered with, before defaults and server-side values."""
    kind, envelope = opened(line)
    value = protobuf.decode(kind, envelope)
    filled_in = {
        ".metadata.resourceVersion",
        ".metadata.uid",
        ".metadata.creationTimestamp",
        ".status.token",
        ".status.expirationTimestamp",
        ".status.allowed",
        ".status.resourceRules",
        ".status.nonResourceRules",
        ".status.conditions[0].lastUpdateTime",
        ".status.conditions[0].lastTransitionTime",
        ".spec.expirationSeconds",
        ".spec.audiences",
        ".spec.extra.authentication.kubernetes.io/credential-id[0]",
        ".spec.request",
    }
    differences = set(missing_or_else(value, line["answer"])) - filled_in
    assert differences == ({".spec.namespace"} if envelope.kind == "SelfSubjectRulesReview" else set())
    assert schema.read(kind, json.dumps(value).encode()) == schema.Decoded(value)


def test_a_deployment_whole() -> None:
    """Zero values of plain fields are dropped, those of pointers (replicas: 0) are not."""
    line = next(line for line in BODIES if "create deployment" in line["command"])
    kind, envelope = opened(line)
    assert protobuf.decode(kind, envelope) == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "made", "namespace": "rec-kubectl", "labels": {"app": "made"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "made"}},
            "template": {
                "metadata": {"labels": {"app": "made"}},
                "spec": {"containers": [{"name": "x", "image": "x", "resources": {}}]},
            },
            "strategy": {},
        },
        "status": {},
    }


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value % 2**64)


def data(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def decode(name: str, raw: bytes) -> dict[str, Any]:
    return protobuf.decode(schema.named(name), protobuf.Envelope("", "", raw))


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("core.v1.Toleration", number(5, 2**64 - 7), {"tolerationSeconds": -7}),
        (
            "core.v1.PodSecurityContext",
            number(4, 5) + data(4, varint(6) + varint(300)),
            {"supplementalGroups": [5, 6, 300]},
        ),
        ("core.v1.Volume", data(1, b"v") + data(2, data(2, b"")), {"name": "v", "emptyDir": {}}),
        ("core.v1.EmptyDirVolumeSource", data(2, data(1, b"1024Mi")), {"sizeLimit": "1Gi"}),
        ("core.v1.EmptyDirVolumeSource", data(2, b""), {"sizeLimit": "0"}),
        ("core.v1.TCPSocketAction", data(1, number(1, 1) + data(3, b"http")), {"port": "http"}),
        ("core.v1.TCPSocketAction", data(1, number(2, 80)), {"port": 80}),
        ("core.v1.Capabilities", data(1, b"\xff") + data(99, b"ignored"), {"add": ["\ufffd"]}),
        (
            "meta.ManagedFieldsEntry",
            data(4, number(1, 0)) + data(7, data(1, b'{"f:a":{}}')),
            {"time": "1970-01-01T00:00:00Z", "fieldsV1": {"f:a": {}}},
        ),
        (
            "coordination.v1.LeaseSpec",
            data(4, number(1, 1) + number(2, 2500)),
            {"renewTime": "1970-01-01T00:00:01.000002Z"},
        ),
        ("coordination.v1.LeaseSpec", data(4, b""), {}),
        (
            "core.v1.ConfigMap",
            data(2, data(1, b"k")) + data(3, data(1, b"b") + data(2, b"\x00")),
            {"metadata": {}, "data": {"k": ""}, "binaryData": {"b": "AA=="}},
        ),
        ("core.v1.FlexVolumeSource", data(1, b"d") + number(4, 1), {"driver": "d", "readOnly": True}),
        (
            "authentication.v1.UserInfo",
            data(4, data(1, b"k") + data(2, data(1, b"a") + data(1, b"b"))),
            {"extra": {"k": ["a", "b"]}},
        ),
        ("authentication.v1.BoundObjectReference", data(4, b"u"), {"uid": "u"}),
        (
            "apiextensions.v1.JSONSchemaProps",
            data(2, b"s")
            + data(8, data(1, b"[1]"))
            + data(20, b"")
            + varint(9 << 3 | 1)
            + struct.pack("<d", 1.5)
            + data(24, data(1, data(5, b"string")))
            + data(25, data(24, data(2, data(5, b"x")) + data(2, data(5, b"y"))))
            + data(30, number(1, 1))
            + data(33, number(1, 1) + data(2, data(5, b"z")))
            + data(32, data(1, b"k") + data(2, data(2, b"a")))
            + number(38, 0),
            {
                "$schema": "s",
                "default": [1],
                "maximum": 1.5,
                "enum": [None],
                "items": {"type": "string"},
                "allOf": [{"items": [{"type": "x"}, {"type": "y"}]}],
                "additionalProperties": True,
                "dependencies": {"k": ["a"]},
                "additionalItems": {"type": "z"},
                "x-kubernetes-preserve-unknown-fields": False,
            },
        ),
    ],
)
def test_messages(name: str, raw: bytes, value: dict[str, Any]) -> None:
    """Every kind of field is read by its number; unknown numbers are skipped."""
    assert decode(name, raw) == value


@pytest.mark.parametrize(
    ("name", "raw", "fault"),
    [
        ("core.v1.Volume", b"\x0a", "unexpected end of message"),
        ("core.v1.Volume", b"\x0a\x05ab", "unexpected end of message"),
        ("core.v1.Volume", b"\x0b", "illegal wire type 3"),
        ("core.v1.Volume", b"\xff" * 11, "number is longer than 64 bits"),
        ("core.v1.Volume", number(1, 5), "number where bytes were expected"),
        ("core.v1.Toleration", data(5, b"x"), "bytes where a number was expected"),
        (
            "core.v1.EmptyDirVolumeSource",
            data(2, data(1, b"x")),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("meta.ManagedFieldsEntry", data(7, data(1, b"{")), "unexpected end of JSON input"),
        ("coordination.v1.LeaseSpec", data(4, number(1, 2**62)), f"time out of range: {2**62}"),
    ],
)
def test_malformed_messages(name: str, raw: bytes, fault: str) -> None:
    """Bytes that are no message of the kind are refused."""
    with pytest.raises(protobuf.ProtobufFault) as caught:
        decode(name, raw)
    assert caught.value.message == fault


def test_deep_nesting_is_refused() -> None:
    """A schema nested a thousand times is refused instead of exhausting the stack."""
    raw = b""
    for _ in range(1000):
        raw = data(28, raw)
    with pytest.raises(protobuf.ProtobufFault) as caught:
        decode("apiextensions.v1.JSONSchemaProps", raw)
    assert caught.value.message == "message is nested too deeply"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00" + data(3, b"gzip"), "cannot read content encoding 'gzip'"),
        (b"k8s\x00" + data(1, b"\x0b"), "illegal wire type 3"),
    ],
)
def test_malformed_envelopes(body: bytes, fault: str) -> None:
    """A body without its envelope is refused."""
    with pytest.raises(protobuf.ProtobufFault) as caught:
        protobuf.envelope(body)
    assert caught.value.message == fault


def test_an_empty_envelope_is_an_empty_object() -> None:
    """What is not stated is empty."""
    assert protobuf.envelope(b"k8s\x00") == protobuf.Envelope("", "", b"")


@given(
    st.sampled_from(["core.v1.Pod", "apiextensions.v1.CustomResourceDefinition", "core.v1.Event"]),
    st.binary(max_size=200),
)
def test_any_bytes_are_read_or_refused(name: str, raw: bytes) -> None:
    """No bytes lead to anything but an object in its stored form or a ProtobufFault."""
    with contextlib.suppress(protobuf.ProtobufFault):
        value = decode(name, raw)
        assert schema.stored_form(schema.named(name), value) == value
    with contextlib.suppress(protobuf.ProtobufFault):
        protobuf.envelope(b"k8s\x00" + raw)


@given(st.sampled_from(BODIES), st.data())
def test_damaged_bodies_are_read_or_refused(line: dict[str, Any], draw: st.DataObject) -> None:
    """Flipping bytes of a real body or cutting it short never does worse than a ProtobufFault."""
    body = bytearray(base64.b64decode(line["base64"]))
    kind, _ = opened(line)
    for _ in range(draw.draw(st.integers(1, 4))):
        body[draw.draw(st.integers(4, len(body) - 1))] = draw.draw(st.integers(0, 255))
    with contextlib.suppress(protobuf.ProtobufFault):
        envelope = protobuf.envelope(bytes(body[: draw.draw(st.integers(4, len(body)))]))
        assert isinstance(protobuf.decode(kind, envelope), dict)


def test_more_values_than_json_may_have_are_refused() -> None:
    """Two bytes of an empty container become an object of many fields."""
    containers = b"\x12\x00" * 60_000
    size = bytes((len(containers) & 0x7F | 0x80, len(containers) >> 7 & 0x7F | 0x80, len(containers) >> 14))
    with pytest.raises(protobuf.ProtobufFault) as error:
        decode("core.v1.Pod", b"\x12" + size + containers)
    assert error.value.message == "document contains more than 50000 values"
