"""Whatever fits the schema, a strategy has an answer: no rule trips over what another one would refuse."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.kinds.recordings import KINDS, MICROTIME, NOW, TIME, Record, copied

from flexlet.api.schema import types
from flexlet.api.schema.types import ListOf, MapOf, Scalar, SchemaOr, Shape, Type
from flexlet.apiserver.contract.kind import Kind

DEPTH = 7
WORDS = (
    *("", "a", "a/b", "-", "Pod", "Container", "Always", "Never", "In", "Exists", "True", "Approved", "Indexed"),
    *("RollingUpdate", "Webhook", "25%", "0-1,3", "object", "array", "k8s.io", "kubernetes.io/tls", "system-x"),
    *(".spec.a", "Complete", "Failed", "PriorityClass", "map", "set", "User", "ServiceAccount", "NoExecute"),
)
SCALARS: dict[str, tuple[Any, ...]] = {
    "string": WORDS,
    "boolean": (True, False),
    "int32": (-1, 0, 1, 3),
    "int64": (-1, 0, 1, 3),
    "double": (0.5, 1.0),
    "byte": ("", "eA=="),
    "Quantity": ("0", "-1", "1500m", "2Gi", 1, "1n"),
    "IntOrString": (0, 1, -1, "25%", "x", "0%"),
    "meta.Time": (TIME,),
    "meta.MicroTime": (MICROTIME,),
    "apiextensions.v1.JSON": (1, "x", {}),
}
KEYS = ("a", "cpu", "pods", "limits.memory", "example.com/x", "spec", "metadata", "requests.cpu", "storage")


class Maker:
    """Makes values of a shape by throwing dice; the deeper, the emptier."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 dice, not secrets

    def value(self, shape: Shape, depth: int) -> Any:
        if isinstance(shape, Scalar):
            return self.dice.choice(SCALARS.get(shape.name, ({},)))
        if isinstance(shape, ListOf):
            return [self.value(shape.item, depth - 1) for _ in range(self.size(depth))]
        if isinstance(shape, MapOf):
            return {self.dice.choice(KEYS): self.value(shape.value, depth - 1) for _ in range(self.size(depth))}
        if isinstance(shape, SchemaOr):
            return self.dice.choice((True, self.object(shape.schema, depth - 1)))
        return self.object(shape, depth - 1)

    def size(self, depth: int) -> int:
        return self.dice.randint(0, 2) if depth > 0 else 0

    def object(self, shape: Type, depth: int) -> Record:
        # Wide types get few fields each time, or nothing below would ever be reached.
        chance = 0.0 if depth < 0 else max(0.3, min(0.8, 6 / (len(shape.fields) or 1)))
        return {
            name: self.value(field.shape, depth)
            for name, field in shape.fields.items()
            if self.dice.random() < chance
        }


def made(kind: Kind, seed: int) -> Record:
    """An object of a kind, named and placed as the pipeline does."""
    assert kind.schema is not None
    body = Maker(seed).object(types.named(kind.schema), DEPTH)
    meta = body.get("metadata", {})
    kept = {key: meta[key] for key in ("labels", "annotations", "finalizers") if key in meta}
    place = {"namespace": "ns"} if kind.namespaced else {}
    body = {key: value for key, value in body.items() if key not in {"kind", "apiVersion"}}
    given = {"name": "x", "uid": "u", "creationTimestamp": TIME, "resourceVersion": "1"}
    body["metadata"] = {**kept, **place, **given}
    kind.strategy.default(body)
    return body


OURS = [kind for kind in KINDS if kind.kind != "Pod"]
seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: f"{kind.group}/{kind.plural}")
@settings(max_examples=40, deadline=None)
@given(one=seeds, other=seeds)
def test_every_rule_answers(kind: Kind, one: int, other: int) -> None:
    """Defaulting settles at once, and every rule gives an answer for whatever the schema lets through."""
    old, obj = made(kind, one), made(kind, other)
    again = copied(obj)
    kind.strategy.default(again)
    assert again == obj
    kind.strategy.prepare_create(old)
    assert all(str(error) for error in kind.strategy.validate(old))
    assert all(kind.strategy.warnings(old))
    if not kind.stored:
        return
    before = copied(old)
    for path in (kind.strategy, *(sub.update for sub in kind.subresources if sub.update)):
        changed = copied(obj)
        path.prepare_update(changed, old)
        assert all(str(error) for error in path.validate_update(changed, old))
        assert all(path.warnings_on_update(changed, old))
        assert old == before
        assert len(kind.strategy.cells(changed, NOW)) == len(kind.strategy.columns)
        assert all(isinstance(value, str) for value in kind.strategy.fields(changed).values())


def test_kinds_are_found_once() -> None:
    """No two kinds share a path."""
    paths = [(kind.group, kind.version, kind.plural) for kind in KINDS]
    assert len(set(paths)) == len(paths)
