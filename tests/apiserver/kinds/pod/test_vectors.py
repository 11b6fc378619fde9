"""Pods created and resized at a real server: same status, same causes, same stored resources and QoS class."""

from typing import Any

import pytest
from tests.apiserver.kinds.pod.pods import Outcome, Pod, changed, created, lines

from flexlet.api import schema
from flexlet.api.patch import strategic
from flexlet.api.schema import Unreadable

VECTORS = lines("vectors/api.jsonl")
POD = schema.named("core.v1.Pod")


def cases(*statuses: int) -> list[Any]:
    """The lines whose create was answered with one of these."""
    found = [case for case in VECTORS if case["create"]["status"] in statuses]
    return [pytest.param(case, id=case["pod"]["metadata"]["name"]) for case in found]


def shown(outcome: Outcome, accepted: int) -> dict[str, Any]:
    """An outcome in the words of the recording."""
    if outcome.errors:
        keys = ("field", "reason", "message")
        unique = sorted({tuple(cause) for cause in outcome.causes})
        return {"status": 422, "reason": "Invalid", "causes": [dict(zip(keys, c, strict=True)) for c in unique]}
    spec = outcome.pod["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    return {
        "status": accepted,
        "resources": spec.get("resources"),
        "containers": {container["name"]: container["resources"] for container in containers},
        "qosClass": outcome.pod["status"]["qosClass"],
    }


def wanted(answer: dict[str, Any]) -> dict[str, Any]:
    """A recorded answer with every cause once and in a fixed order."""
    if "causes" not in answer:
        return answer
    keys = ("field", "reason", "message")
    unique = sorted({tuple(cause[key] for key in keys) for cause in answer["causes"]})
    return {**answer, "causes": [dict(zip(keys, cause, strict=True)) for cause in unique]}


def resized(old: Pod, patch: dict[str, Any]) -> dict[str, Any]:
    """What a strategic merge patch to ``/resize`` is answered with."""
    try:
        body = schema.convert(POD, strategic.apply(POD, old, patch).value).value
    except Unreadable as error:
        return {"status": 422, "why": error.message}
    return shown(changed("resize", body, old), 200)


@pytest.mark.parametrize("case", cases(201, 400, 422))
def test_create(case: dict[str, Any]) -> None:
    """The create of every line."""
    if case["create"]["status"] == 400:
        with pytest.raises(Unreadable):
            schema.read_value(POD, case["pod"])
        return
    body = schema.read_value(POD, case["pod"]).value
    assert shown(created(body), 201) == wanted(case["create"])


@pytest.mark.parametrize("case", cases(201))
def test_resize(case: dict[str, Any]) -> None:
    """The four resizes of every line that was created."""
    old = created(schema.read_value(POD, case["pod"]).value).pod
    old["metadata"]["resourceVersion"] = "7"
    for resize in case["resizes"]:
        answer = resized(old, resize["patch"])
        if "why" in answer:
            assert [cause["field"] for cause in resize["answer"]["causes"]] == ["patch"]
            assert answer["why"] in resize["answer"]["causes"][0]["message"]
        else:
            assert answer == wanted(resize["answer"])
