"""Pods in transcripts of a real server, without the server: what was stored, refused and warned about."""

from typing import Any

import pytest
from tests.apiserver.kinds.pod.pods import Pod, changed, copied, created, kind, lines

from flexlet.api import schema
from flexlet.api.patch import merge, strategic

POD = schema.named("core.v1.Pod")
FILES = ("admission", "crud", "errors", "patch")
# What admission adds to a new pod, and what the server keeps of field owners.
ADMITTED = ("tolerations", "serviceAccount", "serviceAccountName", "priority", "preemptionPolicy")
PATCHES = {"application/merge-patch+json": merge, "application/strategic-merge-patch+json": strategic}


def posts(status: int) -> list[Any]:
    """Recorded creates of pods that end in `status`, but for those that admission changed first."""
    return [
        pytest.param(line, id=f"{file}-{line['seq']}")
        for file in FILES
        for line in lines(f"http/{file}.jsonl")
        if line["method"] == "POST" and line["path"].endswith("/pods") and line["status"] == status
        if "limitrange" not in line["client"]
    ]


@pytest.mark.parametrize("line", posts(422))
def test_refused(line: dict[str, Any]) -> None:
    """The causes of a refused pod."""
    body = schema.read_value(POD, line["request_body"]).value
    recorded = line["response_body"]["details"]["causes"]
    assert created(body).causes == sorted(
        [cause["field"], cause["reason"], cause["message"]] for cause in recorded
    )


def test_stored() -> None:
    """A pod with many fields is stored with every default, and with the warnings it earned."""
    line = next(line for line in lines("http/crud.jsonl") if "many fields" in line["client"])
    outcome = created(schema.read_value(POD, {**line["request_body"], "spec": _with_account(line)}).value)
    recorded = line["response_body"]
    assert outcome.pod["status"] == recorded["status"]
    assert _bare(outcome.pod["spec"]) == _bare(recorded["spec"])
    assert [f'299 - "{text}"' for text in outcome.warnings] == [line["response_headers"]["Warning"]]


def _with_account(line: dict[str, Any]) -> dict[str, Any]:
    return {**line["request_body"]["spec"], "serviceAccountName": "default"}


def _bare(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ADMITTED}


def test_warned() -> None:
    """Deprecated, doubled and fractional things are accepted with a word about each."""
    line = next(line for line in lines("http/admission.jsonl") if line["client"].startswith("raw warnings:"))
    outcome = created(schema.read_value(POD, line["request_body"]).value)
    shown = [f'299 - "{text}"'.replace('"', '\\"').replace('299 - \\"', '299 - "') for text in outcome.warnings]
    assert [f'{text[:-2]}"' for text in shown] == line["response_headers"]["Warning"]


def refused_changes() -> list[Any]:
    """Refused patches of pods whose state before is on record."""
    found, known = [], dict[str, Pod]()
    for file in ("admission", "patch"):
        for line in lines(f"http/{file}.jsonl"):
            path, body = line["path"], line.get("response_body")
            name, _, subresource = path.partition("/pods/")[2].partition("/")
            if isinstance(body, dict) and body.get("kind") == "Pod":
                known[f"{file}/{body['metadata']['name']}"] = body
            patch = PATCHES.get((line.get("request_headers") or {}).get("Content-Type", ""))
            if line["method"] == "PATCH" and line["status"] == 422 and patch and f"{file}/{name}" in known:
                old = known[f"{file}/{name}"]
                found.append(pytest.param(subresource or "update", patch, old, line, id=f"{file}-{line['seq']}"))
    return found


@pytest.mark.parametrize(("path", "patch", "old", "line"), refused_changes())
def test_refused_change(path: str, patch: Any, old: Pod, line: dict[str, Any]) -> None:
    """A refused change names what may not change, with the diff upstream shows."""
    old = {**old, "metadata": {k: v for k, v in old["metadata"].items() if k != "managedFields"}}
    if patch is strategic:
        body = strategic.apply(POD, copied(old), line["request_body"]).value
    else:
        body = merge.apply(copied(old), line["request_body"])
    recorded = line["response_body"]["details"]["causes"]
    assert changed(path, body, old).causes == sorted([c["field"], c["reason"], c["message"]] for c in recorded)


def test_stored_pods_stay() -> None:
    """What a real server stores needs no further default."""
    pods = [
        line["response_body"]
        for file in FILES
        for line in lines(f"http/{file}.jsonl")
        if isinstance(line.get("response_body"), dict) and line["response_body"].get("kind") == "Pod"
    ]
    assert len(pods) > 30
    for pod in pods:
        again = copied(pod)
        kind().strategy.default(again)
        assert again == pod
