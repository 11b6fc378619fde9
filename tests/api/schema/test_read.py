"""Reading bodies: what is stored, what is complained about, what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api import recordings

from flexlet.api import gojson, schema
from flexlet.api.schema import shapes

CONFIG_MAP = schema.named("core.v1.ConfigMap")
POD = schema.named("core.v1.Pod")
SECRET = schema.named("core.v1.Secret")
DEFINITION = schema.named("apiextensions.v1.CustomResourceDefinition")

RECORDED = recordings.lines("recorded_objects.jsonl")


def type_of(obj: dict[str, Any]) -> schema.Type:
    meta = schema.interpret(obj)
    found = schema.type_for(meta.group, meta.version, meta.kind)
    assert found is not None
    return found


@pytest.mark.parametrize("obj", RECORDED, ids=lambda obj: f"{obj['kind']}-{obj['metadata'].get('name')}")
def test_what_a_server_shows_is_its_stored_form(obj: dict[str, Any]) -> None:
    """Objects answered by a real server are read back unchanged, on every way in, without complaints."""
    kind = type_of(obj)
    assert schema.read(kind, json.dumps(obj).encode()) == schema.Decoded(obj)
    assert schema.read_value(kind, obj) == schema.Decoded(obj)
    assert schema.convert(kind, obj) == schema.Decoded(obj)
    assert schema.stored_form(kind, obj) is obj


def test_the_quick_check_vouches_for_ordinary_objects() -> None:
    """Only definitions, which contain themselves, always take the slow way."""
    assert {obj["kind"] for obj in RECORDED if not shapes.fits(type_of(obj), obj)} == {"CustomResourceDefinition"}


def test_both_ways_of_reading_agree() -> None:
    """The slow reader finds in every recorded object what the quick check vouched for."""
    for obj in RECORDED:
        kind = type_of(obj)
        for decoded in (schema.exact.decode(kind, obj), schema.converter.convert(kind, obj)):
            assert schema.stored_form(kind, decoded.value) == obj
            assert decoded.complaints == ()


def test_unknown_and_repeated_fields_are_listed_in_document_order() -> None:
    """Strict reading lists every unknown or repeated field once, and stores without them."""
    body = (
        b'{"bar":{"x":1},"data":{"a":"1","a":"2","a":"3"},"kind":"ConfigMap","Data":{},'
        b'"metadata":{"name":"c","foo":1,"name":"d","ownerReferences":[{"uid":"u"},{"extra":[]}]}}'
    )
    references = [{"apiVersion": "", "kind": "", "name": "", "uid": uid} for uid in ("u", "")]
    value = {"kind": "ConfigMap", "metadata": {"name": "d", "ownerReferences": references}, "data": {"a": "3"}}
    complaints = (
        'unknown field "bar"',
        'duplicate field "data.a"',
        'unknown field "Data"',
        'unknown field "metadata.foo"',
        'duplicate field "metadata.name"',
        'unknown field "metadata.ownerReferences[1].extra"',
    )
    assert schema.read(CONFIG_MAP, body) == schema.Decoded(value, complaints)
    assert schema.read(CONFIG_MAP, body, checked=False) == schema.Decoded(value)


def test_complaints_are_limited() -> None:
    """At most a hundred complaints are kept."""
    body = json.dumps({f"x{index}": 1 for index in range(150)}).encode()
    complaints = schema.read(CONFIG_MAP, body).complaints
    assert complaints == tuple(f'unknown field "x{index}"' for index in range(100))


def test_values_without_bytes_are_checked_too() -> None:
    """A decoded value has no repeated keys left, but unknown fields and wrong types are found."""
    value = {"metadata": {"name": "c"}, "dataa": {}, "data": {"a": "1"}}
    stored = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    assert schema.read_value(CONFIG_MAP, value) == schema.Decoded(stored, ('unknown field "dataa"',))
    assert schema.read_value(CONFIG_MAP, value, checked=False) == schema.Decoded(stored)
    with pytest.raises(schema.Unreadable) as caught:
        schema.read_value(CONFIG_MAP, {"data": {"a": 1.5}})
    assert (
        caught.value.message == "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


@pytest.mark.parametrize(
    ("kind", "body", "value", "field", "wanted"),
    [
        (CONFIG_MAP, '{"data":"str"}', "string", "ConfigMap.data", "map[string]string"),
        (CONFIG_MAP, '{"data":[]}', "array", "ConfigMap.data", "map[string]string"),
        (CONFIG_MAP, '{"immutable":{}}', "object", "ConfigMap.immutable", "bool"),
        (CONFIG_MAP, "[]", "array", "", "v1.ConfigMap"),
        (CONFIG_MAP, '"x"', "string", "", "v1.ConfigMap"),
        (CONFIG_MAP, '{"kind":true}', "bool", "ConfigMap.TypeMeta.kind", "string"),
        (
            POD,
            '{"spec":{"containers":[{"name":1,"image":2}]}}',
            "number",
            "Container.spec.containers.name",
            "string",
        ),
        (POD, '{"spec":{"containers":["x"]}}', "string", "PodSpec.spec.containers", "v1.Container"),
        (POD, '{"spec":{"containers":{}}}', "object", "PodSpec.spec.containers", "[]v1.Container"),
        (
            POD,
            '{"spec":{"volumes":[{"emptyDir":false}]}}',
            "bool",
            "Volume.spec.volumes.VolumeSource.emptyDir",
            "v1.EmptyDirVolumeSource",
        ),
        (
            POD,
            '{"spec":{"containers":[{"imagePullPolicy":3}]}}',
            "number",
            "Container.spec.containers.imagePullPolicy",
            "v1.PullPolicy",
        ),
        (
            POD,
            '{"spec":{"terminationGracePeriodSeconds":1.50}}',
            "number 1.50",
            "PodSpec.spec.terminationGracePeriodSeconds",
            "int64",
        ),
        (POD, '{"spec":{"priority":2147483648}}', "number 2147483648", "PodSpec.spec.priority", "int32"),
        (POD, '{"spec":{"priority":"1"}}', "string", "PodSpec.spec.priority", "int32"),
        (POD, '{"metadata":{"creationTimestamp":5}}', "number", "ObjectMeta.metadata.creationTimestamp", "string"),
        (
            POD,
            '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":{}}}}]}}',
            "object",
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port",
            "int32",
        ),
        (SECRET, '{"data":{"a":1}}', "number", "Secret.data", "[]uint8"),
        (
            DEFINITION,
            '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"maximum":"1"}}}]}}',
            "string",
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maximum",
            "float64",
        ),
    ],
)
def test_wrong_types_name_the_go_field(kind: schema.Type, body: str, value: str, field: str, wanted: str) -> None:
    """A value of the wrong type names the innermost struct, the path of JSON names, and the Go type wanted."""
    with pytest.raises(schema.Unreadable) as caught:
        schema.read(kind, body.encode())
    place = f"struct field {field}" if field else "value"
    assert caught.value.message == f"json: cannot unmarshal {value} into Go {place} of type {wanted}"


def test_numbers_have_the_size_of_their_type() -> None:
    """A number too large for 64 bits of floating point is shown as it was written."""
    tree = gojson.parse_pairs(b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"maximum":1e999}}}]}}')
    with pytest.raises(schema.Unreadable) as caught:
        schema.exact.decode(DEFINITION, tree)
    field = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maximum"
    assert (
        caught.value.message == f"json: cannot unmarshal number 1e999 into Go struct field {field} of type float64"
    )


QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("kind", "body", "fault"),
    [
        (POD, '{"spec":{"overhead":{"cpu":"x"}}}', QUANTITY),
        (POD, '{"spec":{"overhead":{"cpu":{}}}}', QUANTITY),
        (POD, '{"spec":{"priority":"1","overhead":{"cpu":"1x"}}}', QUANTITY),
        (
            POD,
            '{"metadata":{"creationTimestamp":""}}',
            'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"',
        ),
        (SECRET, '{"data":{"a":"!"}}', "illegal base64 data at input byte 0"),
        (
            DEFINITION,
            '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":"x"}}}]}}',
            "boolean or JSON schema expected",
        ),
    ],
)
def test_types_that_read_themselves_have_their_own_words(kind: schema.Type, body: str, fault: str) -> None:
    """Quantities, times and bytes fail with their own texts, which win over an earlier wrong type."""
    with pytest.raises(schema.Unreadable) as caught:
        schema.read(kind, body.encode())
    assert caught.value.message == fault


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("!", 0),
        ("ab!d", 2),
        ("abc", 0),
        ("abcda", 4),
        ("a===", 1),
        ("ab=x", 2),
        ("ab=", 3),
        ("ab==x", 4),
        ("abc=x", 4),
        ("ab\n!", 3),
    ],
)
def test_base64_faults_say_where(text: str, at: int) -> None:
    """Bad base64 names the byte where Go's decoder stumbles."""
    with pytest.raises(schema.Unreadable) as caught:
        schema.read(SECRET, json.dumps({"data": {"a": text}}).encode())
    assert caught.value.message == f"illegal base64 data at input byte {at}"


def test_null_means_not_set_but_is_empty_inside_lists_and_maps() -> None:
    """A null field is absent; a null item or map value is the type's empty value."""
    body = json.dumps(
        {
            "metadata": {"labels": {"a": None}, "finalizers": [None, "f"], "annotations": None, "name": None},
            "spec": {
                "nodeName": None,
                "containers": [None, {"name": "c", "resources": {"limits": {"cpu": None}}, "env": None}],
                "securityContext": None,
            },
            "status": None,
        }
    ).encode()
    assert schema.read(POD, body) == schema.Decoded(
        {
            "metadata": {"labels": {"a": ""}, "finalizers": ["", "f"]},
            "spec": {
                "containers": [
                    {"name": "", "resources": {}},
                    {"name": "c", "resources": {"limits": {"cpu": "0"}}},
                ]
            },
            "status": {},
        }
    )
    assert schema.read(SECRET, b'{"data":{"a":null}}') == schema.Decoded({"metadata": {}, "data": {"a": ""}})
    assert schema.read(CONFIG_MAP, b"null") == schema.Decoded({"metadata": {}})


def test_repeated_objects_are_merged() -> None:
    """As in Go, the second of two equal keys is read into what the first left behind."""
    body = (
        b'{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"n","labels":{"y":"2"}},'
        b'"spec":{"nodeName":"n","containers":[{"name":"c"},{"name":"d"}],"containers":[{"image":"i"},null],'
        b'"nodeName":null,"priority":1,"priority":null,"priority":"x"}}'
    )
    with pytest.raises(schema.Unreadable):
        schema.read(POD, body)
    decoded = schema.read(POD, body.replace(b',"priority":"x"', b""))
    assert decoded.value == {
        "metadata": {"name": "a", "namespace": "n", "labels": {"x": "1", "y": "2"}},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "c", "image": "i", "resources": {}}, {"name": "d", "resources": {}}],
        },
        "status": {},
    }
    assert decoded.complaints == tuple(
        f'duplicate field "{name}"' for name in ("metadata", "spec.containers", "spec.nodeName", "spec.priority")
    )


def test_repeated_null_resets_types_that_read_themselves() -> None:
    """A quantity repeated as null is unset again; it then shows what is shown for an unset one."""
    body = b'{"spec":{"containers":[{"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"1","divisor":null}}}]}]}}'
    env = schema.read(POD, body).value["spec"]["containers"][0]["env"]
    assert env == [{"name": "", "valueFrom": {"resourceFieldRef": {"resource": "", "divisor": "0"}}}]


def test_scalars_are_stored_in_one_spelling() -> None:
    """Quantities, times and base64 are canonical; numbers are taken where quantities are wanted."""
    body = json.dumps(
        {
            "metadata": {
                "creationTimestamp": "2024-01-01T02:00:00.5+02:00",
                "deletionTimestamp": "0001-01-01T00:00:00Z",
            },
            "spec": {
                "containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1024Mi", "x": 0.5}}}]
            },
        }
    ).encode()
    assert schema.read(POD, body).value == {
        "metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi", "x": "500m"}}}]
        },
        "status": {},
    }
    assert schema.read(SECRET, b'{"data":{"a":"eHh4\\r\\n"}}').value["data"] == {"a": "eHh4"}
    lease = schema.named("coordination.v1.Lease")
    micro = (
        b'{"spec":{"renewTime":"2024-01-01T02:00:00.500000+02:00","acquireTime":"0001-01-01T00:00:00.000000Z"}}'
    )
    assert schema.read(lease, micro).value == {
        "metadata": {},
        "spec": {"renewTime": "2024-01-01T00:00:00.500000Z"},
    }


def test_schemas_of_definitions_are_read_through_their_unions() -> None:
    """Unknown fields below items, additionalProperties or dependencies are dropped in silence, others are not."""
    written = {
        "type": "object",
        "nope": 1,
        "default": {"free": [1.5, None, {"a": 1}]},
        "properties": {"a": {"items": {"type": "string", "nope": 1}}, "b": {"nope": 1}, "c": None},
        "additionalProperties": False,
        "allOf": [{"items": [{"type": "x", "nope": 1}]}],
        "dependencies": {"x": ["a", "b"], "y": {"type": "z"}},
        "maximum": 5,
        "minimum": 0.5,
        "additionalItems": {"nope": 1},
    }
    body = json.dumps({"spec": {"versions": [{"schema": {"openAPIV3Schema": written}}]}}).encode()
    decoded = schema.read(DEFINITION, body)
    assert decoded.complaints == tuple(
        f'unknown field "spec.versions[0].schema.openAPIV3Schema.{path}"' for path in ("nope", "properties.b.nope")
    )
    assert decoded.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "default": {"free": [1.5, None, {"a": 1}]},
        "properties": {"a": {"items": {"type": "string"}}, "b": {}, "c": {}},
        "additionalProperties": False,
        "allOf": [{"items": [{"type": "x"}]}],
        "dependencies": {"x": ["a", "b"], "y": {"type": "z"}},
        "maximum": 5,
        "minimum": 0.5,
        "additionalItems": {},
    }
    scalar = body.replace(b'"items": {"type": "string", "nope": 1}', b'"items": "x"')
    assert (
        "items"
        not in schema.read(DEFINITION, scalar).value["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
            "properties"
        ]["a"]
    )


def test_free_values_are_taken_as_they_are() -> None:
    """Defaults and examples of a schema are any JSON, also where there are no bytes to read them from."""
    default = {"a": [1, {"b": None}]}
    value = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"default": default}}}]}}
    stored = schema.read_value(DEFINITION, value).value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert stored == {"default": default}


def test_documents_too_deep_are_refused() -> None:
    """A schema nested beyond the interpreter's stack is an error, not a crash."""
    depth = 400
    nested: dict[str, Any] = {}
    for _ in range(depth):
        nested = {"not": nested}
    with pytest.raises(schema.Unreadable) as caught:
        schema.read_value(DEFINITION, {"spec": {"versions": [{"schema": {"openAPIV3Schema": nested}}]}})
    assert caught.value.message == "exceeded max depth"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "name", "containers", "labels", "limits"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_document_is_read_or_refused(value: Any) -> None:
    """Reading ends with an object in its stored form, or with Unreadable; a stored form is a fixed point."""
    for read in (schema.read_value, schema.convert):
        try:
            stored = read(POD, value).value
        except schema.Unreadable:
            continue
        assert schema.stored_form(POD, stored) == stored
