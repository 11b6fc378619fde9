from typing import Any

import msgspec
import pytest

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Container, Pod, PodSpec, ResourceRequirements
from flexlet.api.quantity import ZERO, Quantity
from flexlet.errors import InputError

NOT_A_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def with_limits(limits: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a"}, {"resources": {"limits": limits}}]}}


def test_pod_from_json() -> None:
    """Known fields become values, unknown ones are ignored."""
    text = b'{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","tty":true}]}}'
    expected = Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=(Container(name="a"),)))
    assert decode.from_json(text, Pod) == expected
    assert decode.from_value(msgspec.json.decode(text), Pod) == expected


@pytest.mark.parametrize(
    ("written", "text"),
    [("500m", "500m"), (" 1Gi ", "1Gi"), (2, "2"), (0.5, "500m"), (None, "0"), (1073741824, "1073741824")],
)
def test_quantities_from_scalars(written: Any, text: str) -> None:
    """JSON may carry a text, with space around it, or a bare number; null is zero, not absent."""
    value = with_limits({"cpu": written})
    for pod in (decode.from_value(value, Pod), decode.from_json(msgspec.json.encode(value), Pod)):
        limits = pod.spec.containers[1].resources.limits
        assert {name: str(amount) for name, amount in limits.items()} == {"cpu": text}


def test_equal_pods_encode_alike() -> None:
    resources = ResourceRequirements(limits={"cpu": Quantity.parse("1500m")})
    assert decode.to_value(resources) == {"limits": {"cpu": "1500m"}}
    assert decode.to_json(resources) == b'{"limits":{"cpu":"1500m"}}'


def test_only_quantities_are_encoded_by_hand() -> None:
    with pytest.raises(NotImplementedError):
        decode.to_json(object())


def test_only_quantities_are_decoded_by_hand() -> None:
    with pytest.raises(NotImplementedError):
        decode.from_value("x", type("Unknown", (), {}))


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (
            with_limits({"memory": "1Gi", "cpu": "1x"}),
            "$.spec.containers[1].resources.limits.cpu",
            f"'1x' is not a quantity: {NOT_A_QUANTITY}",
        ),
        (
            with_limits({"cpu": True}),
            "$.spec.containers[1].resources.limits.cpu",
            "Expected a quantity such as `500m` or `1Gi`, got `bool`",
        ),
        (
            with_limits({"example.com/gpu": []}),
            '$.spec.containers[1].resources.limits["example.com/gpu"]',
            "Expected a quantity such as `500m` or `1Gi`, got `list`",
        ),
        ({"spec": {"containers": {}}}, "$.spec.containers", "Expected `array`, got `object`"),
        ({"spec": {"containers": [1]}}, "$.spec.containers[0]", "Expected `object`, got `int`"),
        ({"metadata": {"labels": {"a": "b", "c": 1}}}, "$.metadata.labels.c", "Expected `str`, got `int`"),
        ({"spec": {"hostNetwork": "yes"}}, "$.spec.hostNetwork", "Expected `bool`, got `str`"),
        ([], "$", "Expected `object`, got `array`"),
        (None, "$", "Expected `object`, got `null`"),
    ],
)
def test_errors_name_the_path(value: Any, path: str, message: str) -> None:
    """Whether it came as text or as a value, the first thing that does not fit is named by its full path."""
    with pytest.raises(InputError) as from_value:
        decode.from_value(value, Pod)
    with pytest.raises(InputError) as from_json:
        decode.from_json(msgspec.json.encode(value), Pod)
    for caught in (from_value, from_json):
        assert (caught.value.path, caught.value.message) == (path, message)
        assert str(caught.value) == f"{message} - at `{path}`"


def test_keys_that_are_no_text() -> None:
    """YAML allows numbers as keys; Kubernetes does not."""
    with pytest.raises(InputError) as caught:
        decode.from_value({"metadata": {"labels": {1: "x"}}}, Pod)
    assert (caught.value.path, caught.value.message) == ("$.metadata.labels", "Expected `str`, got `int` as a key")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"metadata": None, "spec": None}, Pod()),
        ({"spec": {"containers": None, "restartPolicy": None}}, Pod()),
        ({"spec": {"containers": [None]}}, Pod(spec=PodSpec(containers=(Container(),)))),
        (
            {"spec": {"containers": [{"name": "a", "resources": None}]}},
            Pod(spec=PodSpec(containers=(Container(name="a"),))),
        ),
        ({"metadata": {"labels": {"a": None}}}, Pod(metadata=ObjectMeta(labels={"a": ""}))),
        ({"spec": {"overhead": {"cpu": None}}}, Pod(spec=PodSpec(overhead={"cpu": ZERO}))),
    ],
)
def test_null_is_not_set(value: Any, expected: Pod) -> None:
    """A null field is absent; a null item or entry keeps its place with an empty value."""
    before = msgspec.json.encode(value)
    assert decode.from_value(value, Pod) == expected
    assert decode.from_json(before, Pod) == expected
    assert msgspec.json.encode(value) == before


def test_errors_behind_nulls() -> None:
    with pytest.raises(InputError) as caught:
        decode.from_value({"metadata": None, "spec": {"containers": "x"}}, Pod)
    assert caught.value.path == "$.spec.containers"


def test_too_many_nulls() -> None:
    """A document of nothing but nulls is given up on."""
    with pytest.raises(InputError) as caught:
        decode.from_value({"spec": {"containers": [None] * 200}}, Pod)
    assert caught.value.message == "Expected `object`, got `null`"


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b'{"a": }',
        b"",
        b'{"metadata": {"name": "\xff"}}',
        b"[" * 9999,
        b'{"spec": {"affinity":' + b"[" * 9999,
    ],
)
def test_text_that_is_no_json(text: bytes) -> None:
    with pytest.raises(InputError) as caught:
        decode.from_json(text, Pod)
    assert caught.value.path == "$"
