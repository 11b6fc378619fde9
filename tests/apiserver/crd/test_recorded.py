"""Schemas, values, rules and columns that a real kube-apiserver was asked about, and its answers."""

import json
from typing import Any

import pytest
from tests.apiserver.crd.definitions import (
    DATA,
    FREE,
    Object,
    around,
    causes,
    content,
    created,
    kind_of,
    lines,
    updated,
    widget,
)

from flexlet.api import gonumbers
from flexlet.api.schema import Unreadable
from flexlet.apiserver.crd.formats import has_format

VALUES = lines("values.jsonl")
UPDATES = lines("updates.jsonl")
RULES = lines("rules.jsonl")
FORMATS = json.loads((DATA / "formats.json").read_text())
COLUMNS = json.loads((DATA / "columns.json").read_text())
NOW = 1_800_000_000.0


@pytest.mark.parametrize("line", VALUES)
def test_a_value_is_stored_or_refused_as_recorded(line: Object) -> None:
    """Pruning, nulls, defaults; every finding with its path, reason and words; and what strict reading says."""
    kind, sent = kind_of(around(line["schema"])), widget(spec={"f": line["value"]})
    if "refused" in line:
        with pytest.raises(Unreadable) as found:
            created(kind, sent)
        assert found.value.message == line["refused"]
        return
    obj, errors, complaints = created(kind, sent)
    assert sorted(complaints) == line.get("warnings", [])
    assert causes(errors) == line.get("causes", [])
    if not errors:
        assert gonumbers.whole(obj["spec"]) == line["stored"]


@pytest.mark.parametrize("line", UPDATES[1:])
def test_an_update_is_judged_as_recorded(line: Object) -> None:
    """What did not change is not held against an update, even if today's schema would refuse it."""
    kind = kind_of(UPDATES[0]["schema"], subresources={"status": {}})
    old, new = (_stored(line[which]) for which in ("old", "new"))
    obj, errors = updated(kind, new, old, line["path"])
    assert causes(errors) == line.get("causes", [])
    if not errors:
        assert gonumbers.whole(content(obj)) == line["stored"]
        assert obj["metadata"]["generation"] - 1 == line["counted"]


def _stored(given: Object) -> Object:
    obj = widget(**given)
    obj["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 1}
    return obj


@pytest.mark.parametrize("line", RULES[1:], ids=lambda line: line["rule"])
def test_a_rule_holds_or_fails_as_recorded(line: Object) -> None:
    field = {"type": "object", "properties": RULES[0]["properties"]}
    kind = kind_of(around({**field, "x-kubernetes-validations": [{"rule": line["rule"]}]}))
    found = [created(kind, widget(spec={"f": value}))[1] for value in RULES[0]["values"]]
    assert [errors[0].message if errors else None for errors in found] == line["answers"]


@pytest.mark.parametrize("name", FORMATS["good"])
def test_a_text_has_a_format_or_not(name: str) -> None:
    assert [text for text in FORMATS["texts"] if has_format(name, text)] == FORMATS["good"][name]


@pytest.mark.parametrize(("path", "form", "cell"), COLUMNS["cells"])
def test_a_column_prints_what_was_recorded(path: str, form: str, cell: Any) -> None:
    column = {"name": "C", "type": form, "jsonPath": path}
    kind = kind_of({**FREE}, additionalPrinterColumns=[column])
    assert kind.strategy.cells(gonumbers.whole(COLUMNS["object"]), NOW) == ["x", cell]
