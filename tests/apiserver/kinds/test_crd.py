"""Rules of CustomResourceDefinitions that the recordings do not show."""

from typing import Any

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record

from flexlet.apiserver.kinds.crd.structural import check_structural

KIND = recordings.kind_of("customresourcedefinitions", "apiextensions.k8s.io")


def definition(schema: Record | None = None, **version: Any) -> Record:
    """A definition with one version, which is fine unless changed."""
    body = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"} if schema is None else schema},
        **version,
    }
    return {
        "metadata": {"name": "things.example.com", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [body],
        },
    }


def complaints(crd: Record) -> list[str]:
    """What is wrong with a new definition."""
    KIND.strategy.default(crd)
    KIND.strategy.prepare_create(crd)
    return [str(error) for error in KIND.strategy.validate(crd)]


def of(**properties: Any) -> Record:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("case", recordings.scenarios("crd_schemas"))
def test_schemas(case: Record) -> None:
    """Structural, and only words that are known."""
    assert complaints(definition(case["schema"])) == case["errors"]


@pytest.mark.parametrize("case", recordings.scenarios("crd_versions"))
def test_versions(case: Record) -> None:
    """What a version may say."""
    assert complaints(definition(**case["version"])) == case["errors"]


def test_a_definition_gets_names_and_a_stored_version() -> None:
    """What follows from the kind is filled in."""
    crd = definition()
    assert complaints(crd) == []
    assert crd["spec"]["names"] == {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
    }
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert crd["metadata"]["generation"] == 1


def test_a_new_storage_version_is_remembered_beside_the_old() -> None:
    """Objects may still be stored in the old one."""
    old = definition()
    complaints(old)
    obj = definition()
    first, second = obj["spec"]["versions"][0], definition()["spec"]["versions"][0]
    first["storage"], second["name"] = False, "v2"
    obj["spec"]["versions"].append(second)
    KIND.strategy.default(obj)
    KIND.strategy.prepare_update(obj, old)
    assert obj["status"]["storedVersions"] == ["v1", "v2"]
    assert obj["metadata"]["generation"] == 2
    assert KIND.strategy.validate_update(obj, old) == []
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_terminating_definition_may_carry_its_own_finalizer() -> None:
    """Its name has no slash, which would be refused of built-in kinds."""
    crd = definition()
    crd["metadata"]["finalizers"] = ["customresourcecleanup.apiextensions.k8s.io"]
    assert complaints(crd) == []


def test_unknown_formats_are_warned_of() -> None:
    """Nothing would check them."""
    crd = definition(of(a={"type": "string", "format": "odd"}, b={"type": "string", "format": "date-time"}))
    KIND.strategy.default(crd)
    assert KIND.strategy.warnings(crd) == ['unrecognized format "odd"']
    assert KIND.strategy.warnings_on_update(crd, crd) == []


def test_two_versions_with_schemas_of_their_own() -> None:
    """Errors about a schema that not all versions share name the version."""
    crd = definition(of(a={"type": "array"}))
    other = definition(of(a={"type": "string"}))["spec"]["versions"][0]
    crd["spec"]["versions"].append({**other, "name": "v2", "storage": False})
    assert complaints(crd) == [
        "spec.versions[0].schema.openAPIV3Schema.properties[a].items: Required value: must be specified",
    ]


@pytest.mark.parametrize("case", recordings.scenarios("crd_conversions"))
def test_conversions(case: Record) -> None:
    """None, or a webhook that can be called."""
    crd = definition()
    crd["spec"]["conversion"] = case["conversion"]
    assert complaints(crd) == case["errors"]


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ("https://example.com/approved", []),
        ("unapproved, for tests", []),
        ("odd", ["metadata.annotations[api-approved.kubernetes.io]"]),
    ],
)
def test_groups_of_kubernetes_need_approval(annotation: str, wanted: list[str]) -> None:
    """An address of the approval, or the admission that there is none."""
    crd = definition()
    crd["spec"]["group"] = "things.k8s.io"
    crd["metadata"] |= {"name": "things.things.k8s.io", "annotations": {"api-approved.kubernetes.io": annotation}}
    KIND.strategy.default(crd)
    KIND.strategy.prepare_create(crd)
    assert [error.field for error in KIND.strategy.validate(crd)] == wanted
    unchanged = {**crd, "metadata": {**crd["metadata"], "resourceVersion": "1"}}
    assert KIND.strategy.validate_update(unchanged, unchanged) == []


def test_items_that_are_no_schema_are_looked_at_without_a_fault() -> None:
    """Logic mentions what stands there as a truth value; that it is no schema is said elsewhere."""
    schema = {"type": "array", "items": True, "not": {"items": {"items": {"type": "string"}}}}
    assert isinstance(check_structural(schema, "s"), list)
