"""Schemas of OpenAPI documents: types as JSON schema with Kubernetes' own extensions."""

from typing import Any, Final

from flexlet.api.schema.types import Field, ListOf, MapOf, Scalar, SchemaOr, Shape, Type, named
from flexlet.apiserver.contract.kind import Kind

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
PREFIXES: Final = {
    "meta": META,
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}
SCALARS: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "byte": {"type": "string", "format": "byte"},
    "bytes": {"type": "string", "format": "byte"},
    "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "meta.Time": {"type": "string", "format": "date-time"},
    "meta.MicroTime": {"type": "string", "format": "date-time"},
}
ANYTHING: Final = {"type": "object"}


class Schemas:
    """The ``components.schemas`` of one document; types are added as they are referred to."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def kind(self, kind: Kind, of: Type | None) -> dict[str, Any]:
        """A reference to a kind's schema."""
        if of is None:
            return self._custom(kind)
        return self._reference(of)

    def _custom(self, kind: Kind) -> dict[str, Any]:
        """A custom resource: its definition's schema, if its strategy knows it."""
        parts = ".".join(reversed(kind.group.split(".")))
        name = f"{parts}.{kind.version}.{kind.kind}"
        own = getattr(kind.strategy, "openapi_schema", None) or {"type": "object"}
        properties = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            **own.get("properties", {}),
            "metadata": {"allOf": [self._reference(named("meta.ObjectMeta"))]},
        }
        gvk = {"group": kind.group, "kind": kind.kind, "version": kind.version}
        self.found[name] = {**own, "properties": properties, "x-kubernetes-group-version-kind": [gvk]}
        return {"$ref": f"#/components/schemas/{name}"}

    def _reference(self, of: Type) -> dict[str, Any]:
        name = schema_name(of.name)
        if name not in self.found:
            self.found[name] = {}  # types may contain themselves
            self.found[name] = self._type(of)
        return {"$ref": f"#/components/schemas/{name}"}

    def _type(self, of: Type) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._field(field) for name, field in of.fields.items() if name},
        }
        required = [name for name, field in of.fields.items() if field.raw.get("req")]
        if required:
            schema["required"] = required
        if "map" in of.raw:
            schema["x-kubernetes-map-type"] = of.raw["map"]
        if "gvk" in of.raw:
            schema["x-kubernetes-group-version-kind"] = [of.raw["gvk"]]
        return schema

    def _field(self, field: Field) -> dict[str, Any]:
        schema = self._shape(field.shape)
        if "$ref" in schema:
            schema = {"allOf": [schema], "default": {}}
        raw = field.raw
        extensions = {
            "x-kubernetes-list-type": raw.get("list"),
            "x-kubernetes-list-map-keys": raw.get("keys"),
            "x-kubernetes-map-type": raw.get("map"),
            "x-kubernetes-patch-strategy": raw.get("smp"),
            "x-kubernetes-patch-merge-key": raw.get("smpKey"),
        }
        return {**schema, **{key: value for key, value in extensions.items() if value}}

    def _shape(self, shape: Shape) -> dict[str, Any]:
        if isinstance(shape, Type):
            return self._reference(shape)
        if isinstance(shape, ListOf):
            return {"type": "array", "items": self._shape(shape.item)}
        if isinstance(shape, MapOf):
            return {"type": "object", "additionalProperties": self._shape(shape.value)}
        if isinstance(shape, SchemaOr):
            return dict(ANYTHING)
        return dict(_scalar(shape))


def schema_name(name: str) -> str:
    """The name clients know a type by: ``io.k8s.api.core.v1.Pod``."""
    group, _, rest = name.partition(".")
    if group == "meta":
        return f"{META}.{rest}"
    return f"{PREFIXES.get(group, f'io.k8s.api.{group}')}.{rest}"


def _scalar(shape: Scalar) -> dict[str, Any]:
    return SCALARS.get(shape.name, ANYTHING)
