import pytest

from flexlet.api.schema import types
from flexlet.api.schema.types import ListOf, MapOf, Scalar, SchemaOr


def test_kinds_are_found_by_group_version_and_kind() -> None:
    """A built-in kind has its type; anything else has none."""
    pod = types.type_for("", "v1", "Pod")
    assert pod is types.named("core.v1.Pod")
    assert list(pod.fields) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert types.type_for("apps", "v1", "Deployment") is types.named("apps.v1.Deployment")
    assert types.type_for("apps", "v1", "Pod") is None
    assert repr(pod) == "Type('core.v1.Pod')"
    with pytest.raises(KeyError):
        types.named("core.v1.Nothing")


def test_shapes_print_as_in_go() -> None:
    """A shape knows how Go's reflection prints it, through named and anonymous containers."""
    assert types.named("core.v1.Capabilities").fields["add"].shape == ListOf(
        Scalar("string", "v1.Capability"), "[]v1.Capability"
    )
    assert types.named("core.v1.ResourceRequirements").fields["limits"].shape == MapOf(
        Scalar("Quantity", "resource.Quantity"), "v1.ResourceList"
    )
    assert types.named("authentication.v1.UserInfo").fields["extra"].shape == MapOf(
        ListOf(Scalar("string", "string"), "v1.ExtraValue"), "map[string]v1.ExtraValue"
    )


def test_fields_know_how_they_merge() -> None:
    """Merge strategy, merge key and retainKeys come from the patch tags."""
    volumes = types.named("core.v1.PodSpec").fields["volumes"]
    assert (volumes.strategy, volumes.merge_key, volumes.retain_keys) == ("merge", "name", True)
    strategy = types.named("apps.v1.DeploymentSpec").fields["strategy"]
    assert (strategy.strategy, strategy.merge_key, strategy.retain_keys) == ("", "", True)
    args = types.named("core.v1.Container").fields["args"]
    assert (args.strategy, args.merge_key, args.retain_keys) == ("", "", False)


def test_embedded_structs_exist_only_in_protobuf() -> None:
    """In JSON the members of an embedded struct belong to the parent; in protobuf the struct has a number."""
    volume = types.named("core.v1.Volume")
    assert volume.fields["emptyDir"].embedded == ("VolumeSource",)
    assert volume.fields["emptyDir"].number == 0
    assert "volumeSource" not in volume.fields
    assert (volume.numbers[2].name, volume.numbers[2].inline) == ("volumeSource", True)


def test_schemas_contain_themselves() -> None:
    """JSON schemas are recursive, directly and through unions."""
    schema = types.named("apiextensions.v1.JSONSchemaProps")
    assert schema.fields["not"].shape is schema
    assert schema.fields["items"].shape == SchemaOr(schema, schema, "v1.JSONSchemaPropsOrArray")
    assert schema.fields["dependencies"].shape == MapOf(
        SchemaOr(schema, Scalar("string", "string"), "v1.JSONSchemaPropsOrStringArray"),
        "v1.JSONSchemaDependencies",
    )


def test_numbers_are_unique() -> None:
    """Every type's protobuf numbers name one field each."""
    for name in types._types():
        numbered = [field for field in types.named(name).all_fields.values() if field.number]
        assert len(numbered) == len(types.named(name).numbers), name
