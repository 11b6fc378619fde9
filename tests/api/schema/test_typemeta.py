from typing import Any

import pytest

from flexlet.api import schema
from flexlet.api.schema import TypeMeta

STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
PREFIX = "couldn't get version/kind; json parse error: json: cannot unmarshal"


@pytest.mark.parametrize(
    ("value", "meta"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, TypeMeta("apps", "v1", "Deployment")),
        ({"apiVersion": "v1", "kind": None}, TypeMeta("", "v1", "")),
        ({}, TypeMeta()),
        (None, TypeMeta()),
    ],
)
def test_a_body_says_what_it_is(value: Any, meta: TypeMeta) -> None:
    """Kind, group and version are read; what is absent or null is empty."""
    assert schema.interpret(value) == meta


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], f"{PREFIX} array into Go value of type {STRUCT}"),
        ({"kind": 3, "apiVersion": []}, f"{PREFIX} number into Go struct field .kind of type string"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_faults_have_upstreams_words(value: Any, fault: str) -> None:
    """A body that does not even say what it is names the first thing wrong with it."""
    with pytest.raises(schema.Unreadable) as caught:
        schema.interpret(value)
    assert caught.value.message == fault
