"""Every patch a real server was sent, applied to the state it was applied to."""

import json
from typing import Any

import pytest
from tests.api import recordings

from flexlet.api import gotext, schema
from flexlet.api.patch import json_patch, merge, strategic
from flexlet.api.patch.errors import PatchFault

CASES = recordings.lines("patch_cases.jsonl")
RESIZES = recordings.lines("resize_patches.jsonl")
POD = schema.named("core.v1.Pod")


def patched(case: dict[str, Any]) -> schema.Decoded:
    before, body = case["before"], case["patch"].encode()
    meta = schema.interpret(before)
    kind = schema.type_for(meta.group, meta.version, meta.kind)
    if case["type"] == "strategic":
        assert kind is not None
        document = strategic.read(body)
        decoded = schema.convert(kind, strategic.apply(kind, before, document.value).value)
    else:
        module: Any = json_patch if case["type"] == "json" else merge
        document = module.read(body)
        value = module.apply(before, document.value)
        decoded = schema.read_value(kind, value) if kind else schema.Decoded(value)
    return schema.Decoded(decoded.value, document.complaints + decoded.complaints)


@pytest.mark.parametrize("case", [case for case in CASES if "after" in case], ids=lambda case: case["case"][:50])
def test_patches_that_apply(case: dict[str, Any]) -> None:
    """The patched object is the one the server answered with, and the original is as it was."""
    before = json.dumps(case["before"])
    decoded = patched(case)
    assert decoded.value == case["after"]
    if "Ignore" not in case["case"]:
        warnings = [f'299 - "{text.replace(chr(34), chr(92) + chr(34))}"' for text in decoded.complaints]
        assert warnings == case.get("warnings", [])
    assert json.dumps(case["before"]) == before


@pytest.mark.parametrize(
    "case", [case for case in CASES if "after" not in case], ids=lambda case: case["case"][:50]
)
def test_patches_that_do_not(case: dict[str, Any]) -> None:
    """A patch that fails does so with the server's status and words."""
    with pytest.raises((PatchFault, schema.Unreadable)) as caught:
        patched(case)
    fault = caught.value
    if isinstance(fault, PatchFault):
        assert fault.code == case["status"]
    if case["message"] != "the server rejected our request due to an error in our request":
        assert fault.message == case["message"]
    if "shown" in case:
        assert gotext.sprint(json.loads(case["patch"])) == case["shown"]


def test_patched_documents_are_shown_as_upstream_shows_them() -> None:
    """A merged document that does not fit is shown with sorted keys where it was touched."""
    original = {
        "kind": "ConfigMap",
        "data": {"z": "1", "y": "2"},
        "metadata": {"name": "c", "labels": {"b": "<", "a": ""}},
    }
    touched, rest = r'{"data":{"x":1,"y":"2","z":"1"},', r'"metadata":{"name":"c","labels":{"b":"\u003c","a":""}}}'
    text = f'{touched}"kind":"ConfigMap",{rest}'
    assert merge.text(original, {"data": {"x": 1}}) == text
    assert json_patch.text(original, [{"op": "add", "path": "/data/x", "value": 1}]) == text


@pytest.mark.parametrize("case", RESIZES, ids=lambda case: ",".join(c["name"] for c in case["spec"]["containers"]))
def test_resize_patches(case: dict[str, Any]) -> None:
    """Resource patches of containers merge by name; requests the server defaulted are left out of the answer."""
    for resize in case["resizes"]:
        merged = strategic.apply(POD, {"spec": case["spec"]}, resize["patch"])
        spec = schema.convert(POD, merged.value).value["spec"]
        containers = [*spec["containers"], *spec.get("initContainers", [])]
        assert {container["name"]: container["resources"] for container in containers} == resize["containers"]
        assert spec.get("resources") == resize["resources"]
