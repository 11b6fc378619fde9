"""Objects of a kind, made up from the server's own schema: mostly of the right types, rarely the right values."""

import random
from typing import Any

from tests.fuzz import oddities

from flexlet.api.schema.types import ListOf, MapOf, Scalar, Shape, Type

MAX_DEPTH = 7
NAMES = ("a", "b", "c", "d", "p", "web")
PLAIN_METADATA = ("labels", "annotations", "finalizers")
WORDS = (
    *("a", "b", "c", "main", "Always", "Never", "OnFailure", "IfNotPresent", "Exists", "Equal", "NoSchedule"),
    *("NoExecute", "cpu", "memory", "pods", "In", "NotIn", "TCP", "Pending", "Running", "True", "False", "Ready"),
    *("Guaranteed", "100m", "1Gi", "500Mi", "2", "10%", "/x", "1.2.3.4", "2024-01-01T00:00:00Z", "v1", "Pod"),
    *("kubernetes.io/os", "app", "RollingUpdate", "Recreate", "Background", "system-node-critical"),
)


def made_up(rng: random.Random, shape: Shape, depth: int = 0) -> Any:
    """A value of the shape; now and then of another one."""
    if rng.random() < 0.01:
        return rng.choice(oddities.SCALARS)
    if isinstance(shape, Scalar):
        return _scalar(rng, shape)
    if depth > MAX_DEPTH:
        return rng.choice(({}, [], None))
    if isinstance(shape, ListOf):
        return [made_up(rng, shape.item, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
    if isinstance(shape, MapOf):
        return {_word(rng): made_up(rng, shape.value, depth + 1) for _ in range(rng.choice((0, 1, 2)))}
    if isinstance(shape, Type):
        return _object(rng, shape, depth)
    return rng.choice((True, False, {}, {"type": "string"}, ["a"]))


def of_kind(rng: random.Random, of: Type) -> dict[str, Any]:
    """An object that, as a rule, says nothing wrong about who it is, so that the rest of it is looked at."""
    value = _object(rng, of, 0)
    if rng.random() < 0.95:
        kept = {key: field for key, field in value.items() if key not in {"kind", "apiVersion"}}
        metadata = kept.get("metadata")
        if isinstance(metadata, dict):
            kept["metadata"] = {key: metadata[key] for key in metadata if key in PLAIN_METADATA}
            kept["metadata"]["name"] = rng.choice(NAMES)
        return kept
    return value


def _object(rng: random.Random, of: Type, depth: int) -> dict[str, Any]:
    share = 0.9 if depth < 2 else 0.25
    value: dict[str, Any] = {}
    for name, field in of.fields.items():
        if rng.random() < share or name in {"name", "image", "containers"}:
            inner = made_up(rng, field.shape, depth + 1)
            if field.inline and isinstance(inner, dict):
                value |= inner
            else:
                value[name] = inner
    return value


def _scalar(rng: random.Random, shape: Scalar) -> Any:
    if shape.name in {"int32", "int64", "number", "integer"}:
        return rng.choice((0, 1, 2, 80, 30, *oddities.NUMBERS))
    if shape.name == "boolean":
        return rng.random() < 0.5
    return _word(rng)


def _word(rng: random.Random) -> str:
    return rng.choice(oddities.TEXTS if rng.random() < 0.1 else WORDS)
