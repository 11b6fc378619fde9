"""Results of strategic merge patches are converted, not decoded: other words, other leniency."""

from typing import Any

import pytest

from flexlet.api import schema

POD = schema.named("core.v1.Pod")
SECRET = schema.named("core.v1.Secret")
DEFINITION = schema.named("apiextensions.v1.CustomResourceDefinition")


@pytest.mark.parametrize(
    ("kind", "value", "fault"),
    [
        (POD, {"metadata": {"labels": {"a": ["k"]}}}, "unrecognized type: string"),
        (POD, {"metadata": {"name": True}}, "unrecognized type: string"),
        (POD, {"metadata": {"name": 5}}, "cannot convert int64 to string"),
        (POD, {"spec": {"containers": [{"imagePullPolicy": 5}]}}, "cannot convert int64 to v1.PullPolicy"),
        (POD, {"spec": {"priority": "1"}}, "unrecognized type: int32"),
        (POD, {"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
        (POD, {"spec": {"hostNetwork": 1}}, "unrecognized type: bool"),
        (POD, {"spec": []}, "cannot restore struct from: slice"),
        (POD, {"spec": {"containers": {}}}, "cannot restore slice from map"),
        (POD, {"metadata": {"labels": "x"}}, "cannot restore map from string"),
        (
            POD,
            {"metadata": {"creationTimestamp": 1}},
            "json: cannot unmarshal number into Go value of type string",
        ),
        (
            POD,
            {"spec": {"overhead": {"cpu": "x"}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (SECRET, {"data": {"a": "!"}}, "error decoding from json: illegal base64 data at input byte 0"),
        (SECRET, {"data": {"a": 1}}, "cannot restore slice from int64"),
        (
            DEFINITION,
            {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": 1}}}]}},
            "boolean or JSON schema expected",
        ),
    ],
)
def test_faults_have_the_converters_words(kind: schema.Type, value: dict[str, Any], fault: str) -> None:
    """A value that does not fit is refused in the words of the conversion, in Go's order of fields."""
    with pytest.raises(schema.Unreadable) as caught:
        schema.convert(kind, {"status": "later in Go's order", **value})
    assert caught.value.message == fault


def test_numbers_are_converted_generously() -> None:
    """Whole floats become integers, and integers beyond the type wrap as in Go."""
    value = {"spec": {"priority": 2**31, "terminationGracePeriodSeconds": 30.0, "containers": [None]}}
    assert schema.convert(POD, value) == schema.Decoded(
        {
            "metadata": {},
            "spec": {
                "containers": [{"name": "", "resources": {}}],
                "terminationGracePeriodSeconds": 30,
                "priority": -(2**31),
            },
            "status": {},
        }
    )


def test_unknown_fields_are_sorted_and_map_keys_left_out_of_paths() -> None:
    """Complaints come sorted; the path does not tell which value of a map is meant."""
    value = {"zzz": 1, "spec": {"$patch": 1, "containers": [{"env": [{}, {"a": 1}]}]}, "metadata": {"x": None}}
    decoded = schema.convert(POD, value)
    assert decoded.complaints == tuple(
        f'unknown field "{path}"' for path in ("metadata.x", "spec.$patch", "spec.containers[0].env[1].a", "zzz")
    )
    assert schema.convert(POD, value, checked=False) == schema.Decoded(decoded.value)
    schemas = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"b": 1}}}}}]}}
    assert schema.convert(DEFINITION, schemas).complaints == (
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.b"',
    )


def test_schemas_are_converted_through_their_unions() -> None:
    """Schemas below items, additionalProperties and dependencies are converted without complaints."""
    written = {
        "items": {"type": "string", "nope": 1},
        "additionalProperties": True,
        "allOf": [{"items": [{"type": "x"}]}],
        "dependencies": {"x": ["a"]},
        "maximum": 5,
    }
    value = {"spec": {"versions": [{"schema": {"openAPIV3Schema": written}}]}}
    decoded = schema.convert(DEFINITION, value)
    assert decoded.complaints == ()
    assert decoded.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        **written,
        "items": {"type": "string"},
    }
