"""The rules of custom resources beyond values: names, generations, status, versions, selection, warnings."""

from typing import Any

import pytest
from tests.apiserver.crd.definitions import (
    FREE,
    Object,
    around,
    causes,
    created,
    definition,
    kind_of,
    updated,
    version,
    widget,
)

from flexlet.api.schema import Unreadable
from flexlet.apiserver.crd.definition import define

WITH_STATUS: Object = {"subresources": {"status": {}}}


def old_widget(**content: Any) -> Object:
    obj = widget(**content)
    obj["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 3}
    return obj


def test_a_kind_is_named_as_its_definition_says() -> None:
    subresources = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
    kind = define(
        definition(version(FREE, subresources=subresources), shortNames=["wd"], categories=["all"])
    ).served[0]
    assert (kind.api_version, kind.kind, kind.list_kind) == ("example.com/v1", "Widget", "WidgetList")
    assert (kind.plural, kind.singular, kind.short_names, kind.categories) == (
        *("widgets", "widget"),
        *(("wd",), ("all",)),
    )
    assert [(sub.name, sub.verbs, sub.kind) for sub in kind.subresources] == [
        ("status", ("get", "patch", "update"), ""),
        ("scale", ("get", "patch", "update"), "Scale"),
    ]
    assert (kind.custom, kind.unconditional_update, kind.schema) == (True, False, None)


def test_an_object_must_say_what_it_is() -> None:
    kind = kind_of(FREE)
    wrong = [
        ({"kind": "Gadget"}, [["kind", "FieldValueInvalid", 'Invalid value: "Gadget": must be Widget']]),
        (
            {"apiVersion": "other.com/v1"},
            [["apiVersion", "FieldValueInvalid", 'Invalid value: "other.com/v1": must be example.com/v1']],
        ),
    ]
    assert [causes(created(kind, {**widget(), **change})[1]) for change, _ in wrong] == [
        found for _, found in wrong
    ]


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ("x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        (
            {"labels": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
    ],
)
def test_metadata_must_be_metadata(metadata: Any, fault: str) -> None:
    with pytest.raises(Unreadable) as found:
        created(kind_of(FREE), {**widget(), "metadata": metadata})
    assert found.value.message == fault


def test_metadata_keeps_what_it_knows() -> None:
    obj = widget()
    obj["metadata"] |= {"lables": {}, "labels": {"a": None}, "creationTimestamp": None, "annotations": {}}
    shaped, _, complaints = created(kind_of(FREE), obj)
    assert shaped["metadata"] == {"name": "w", "namespace": "ns", "labels": {"a": ""}, "generation": 1}
    assert complaints == ['unknown field "metadata.lables"']


def test_integers_beyond_64_bits_are_floats() -> None:
    shaped, _, _ = created(kind_of(FREE), widget(spec={"small": 2**63 - 1, "large": [2**63]}))
    assert [type(shaped["spec"]["small"]), type(shaped["spec"]["large"][0])] == [int, float]


@pytest.mark.parametrize(
    ("subresources", "change", "generation", "status"),
    [
        (WITH_STATUS, {"spec": {"a": 2}}, 4, {"s": 1}),
        (WITH_STATUS, {"status": {"s": 2}}, 3, {"s": 1}),
        (WITH_STATUS, {"metadata": {"labels": {"x": "y"}}}, 3, {"s": 1}),
        (WITH_STATUS, {"spec": {"a": True}}, 4, {"s": 1}),
        ({}, {"status": {"s": 2}}, 4, {"s": 2}),
        ({}, {"extra": 1}, 4, {"s": 1}),
    ],
)
def test_the_generation_counts_what_this_path_may_change(
    subresources: Object, change: Object, generation: int, status: Object
) -> None:
    """With a status path the main one leaves the status alone; without, any change outside metadata counts."""
    old = old_widget(spec={"a": 1}, status={"s": 1})
    new = {**old, **change, "metadata": {**old["metadata"], **change.get("metadata", {})}}
    obj, errors = updated(kind_of(FREE, **subresources), new, old)
    assert (obj["metadata"]["generation"], obj["status"], errors) == (generation, status, [])


def test_the_status_path_changes_nothing_else() -> None:
    old = old_widget(spec={"a": 1})
    new = {**old, "spec": {"a": 2}, "status": {"s": 1}, "metadata": {**old["metadata"], "labels": {"x": "y"}}}
    obj, errors = updated(kind_of(FREE, **WITH_STATUS), new, old, "status")
    assert (obj, errors) == ({**old, "status": {"s": 1}}, [])


def test_a_new_object_has_no_status_if_that_has_its_own_path() -> None:
    obj = widget(spec={}, status={"s": 1})
    assert "status" not in created(kind_of(FREE, **WITH_STATUS), obj)[0]
    assert created(kind_of(FREE), obj)[0]["status"] == {"s": 1}


def test_status_errors_speak_from_inside_the_status() -> None:
    schema = {
        "type": "object",
        "properties": {"status": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    }
    old = old_widget()
    _, errors = updated(kind_of(schema, **WITH_STATUS), {**old, "status": {"n": "x"}}, old, "status")
    text = 'Invalid value: "string": n in body must be of type integer: "string"'
    assert causes(errors) == [["status.n", "FieldValueTypeInvalid", text]]


@pytest.mark.parametrize(
    ("path", "spec", "found"),
    [
        (".spec.n", {"n": -1}, "Invalid value: -1: should be a non-negative integer"),
        (".spec.n", {"n": 2**31}, "Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            ".spec.n",
            {"n": 2.0},
            "Invalid value: 0: .spec.n accessor error: 2 is of the type float64, expected int64",
        ),
        (
            ".spec.n.m",
            {"n": "x"},
            "Invalid value: 0: .spec.n.m accessor error: x is of the type string, expected map[string]interface{}",
        ),
        (".spec.n.m", {"n": None}, None),
        (".spec.n", {}, None),
    ],
)
def test_a_scaled_object_has_a_number_of_replicas(path: str, spec: Object, found: str | None) -> None:
    paths = {"specReplicasPath": path, "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.l"}
    _, errors, _ = created(kind_of(FREE, subresources={"scale": paths}), widget(spec=spec))
    assert causes(errors) == ([[path, "FieldValueInvalid", found]] if found else [])


def test_fields_are_selected_as_text() -> None:
    fields = [{"jsonPath": ".spec.s"}, {"jsonPath": ".spec.n"}, {"jsonPath": ".spec.b"}]
    kind = kind_of(FREE, selectableFields=fields)
    assert kind.strategy.fields(widget(spec={"s": "x", "n": 5, "b": True})) == {
        "spec.s": "x",
        "spec.n": "5",
        "spec.b": "true",
    }
    assert kind.strategy.fields({"metadata": {}}) == {"spec.s": "", "spec.n": "", "spec.b": ""}


def test_finalizers_without_a_domain_are_warned_of_once() -> None:
    kind = kind_of(FREE)
    old, new = widget(), widget()
    new["metadata"]["finalizers"] = ["plain", "with.dot", "a.b/c", "orphan"]
    advice = "to avoid accidental conflicts with other finalizer writers"
    expected = [
        f'metadata.finalizers: "plain": prefer a domain-qualified finalizer name {advice}',
        f'metadata.finalizers: "with.dot": prefer a domain-qualified finalizer name including a path (/) {advice}',
    ]
    assert kind.strategy.warnings(new) == expected
    assert kind.strategy.warnings_on_update(new, old) == expected
    assert kind.strategy.warnings_on_update(new, new) == []


def test_versions_are_preferred_by_age_and_maturity() -> None:
    names = ("v1", "v1beta1", "v10", "v2", "foo", "v1alpha1")
    made = define(definition(*(version(FREE, name=name) for name in names)))
    assert [kind.version for kind in made.served] == ["v10", "v2", "v1", "v1beta1", "v1alpha1", "foo"]
    assert (made.storage.version, made.bucket) == ("v1", "example.com/widgets")


def test_a_version_that_is_not_served_may_be_the_one_that_is_stored() -> None:
    made = define(definition(version(FREE, served=False), version(FREE, name="v2")))
    assert [(kind.version, kind.storage_version, kind.stored_as) for kind in made.served] == [("v2", False, "v1")]
    assert made.storage.version == "v1"


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ([version(FREE)], ""),
        ([version(FREE, deprecated=True)], "example.com/v1 Widget is deprecated"),
        (
            [version(FREE, deprecated=True), version(FREE, name="v2")],
            "example.com/v1 Widget is deprecated; use example.com/v2 Widget",
        ),
        (
            [version(FREE, deprecated=True), version(FREE, name="v1beta1")],
            "example.com/v1 Widget is deprecated",
        ),
        ([version(FREE, deprecated=True, deprecationWarning="old")], "old"),
    ],
)
def test_users_of_deprecated_versions_are_told_of_better_ones(versions: list[Object], warning: str) -> None:
    made = define(definition(*versions))
    assert next(kind.deprecation for kind in made.served if kind.version == "v1") == warning


def test_versions_with_schemas_of_their_own_keep_their_own_fields() -> None:
    """An object is stored as the storage version knows it; what another version has besides is lost."""
    one, two = (around({"type": "object", "properties": {name: {"type": "integer"}}}) for name in ("a", "b"))
    newer, older = define(definition(version(one), version(two, name="v2"))).served
    assert (newer.version, older.version) == ("v2", "v1")
    obj = {**widget(spec={"f": {"b": 1}}), "apiVersion": "example.com/v2"}
    assert newer.strategy.to_storage(obj) == widget(spec={"f": {}})
    assert newer.strategy.from_storage(widget(spec={"f": {"a": 1}})) == {**obj, "spec": {"f": {}}}


def test_a_default_is_not_shared_between_objects() -> None:
    kind = kind_of(around({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {"l": []}}))
    first, _, _ = created(kind, widget(spec={}))
    first["spec"]["f"]["l"].append(1)
    assert created(kind, widget(spec={}))[0]["spec"] == {"f": {"l": []}}


def test_columns_end_at_a_path_that_is_none() -> None:
    paths = (".spec.a", ".spec[?(", ".spec.b")
    columns = [{"name": path, "type": "string", "jsonPath": path} for path in paths]
    kind = kind_of(FREE, additionalPrinterColumns=columns)
    assert [column.name for column in kind.strategy.columns] == ["Name", ".spec.a"]
    assert kind.strategy.cells(widget(spec={"a": 1, "b": 2}), 0.0) == ["w", "1"]


def test_a_kind_without_columns_shows_its_age() -> None:
    kind = kind_of(FREE)
    obj = widget()
    obj["metadata"]["creationTimestamp"] = "2027-01-15T08:00:00Z"
    assert [(column.name, column.type) for column in kind.strategy.columns] == [
        ("Name", "string"),
        ("Age", "date"),
    ]
    assert kind.strategy.cells(obj, 1_800_000_090.0) == ["w", "90s"]
