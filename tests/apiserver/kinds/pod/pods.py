"""Pods through their strategies, the way the REST pipeline takes them, without a server around.

`created` and `changed` answer with what would be stored or with the findings; `answers` are recorded from the code
of Kubernetes 1.36.3 itself.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, UpdateStrategy
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.kind import pod_kind

DATA = Path(__file__).parents[3] / "data"
GATES = {
    "InPlacePodLevelResourcesVerticalScaling": True,
    "InPlacePodVerticalScaling": True,
    "InPlacePodVerticalScalingInitContainers": True,
    "NodeDeclaredFeatures": True,
    "PodLevelResources": True,
}
TIME = "2024-01-01T00:00:00Z"

Pod = dict[str, Any]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write."""

    pod: Pod
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def causes(self) -> list[list[str]]:
        """The findings in the form of recordings, sorted."""
        return sorted([error.field, error.reason, error.message] for error in self.errors)


def lines(name: str) -> list[Any]:
    """The JSON values of a file below tests/data, one a line, with times and versions for placeholders."""
    text = (DATA / name).read_text().replace("<time>", TIME)
    text = re.sub(r"<rv:(\d+)>", r"\1", text)
    return [msgspec.json.decode(line) for line in text.splitlines()]


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return msgspec.json.decode(msgspec.json.encode(value))


def kind(switched: Mapping[str, bool] | None = None) -> Kind:
    """Pods with some gates switched."""
    return pod_kind({**GATES, **(switched or {})})


def pod(spec: Mapping[str, Any] | None = None, **meta: Any) -> Pod:
    """A pod as a client writes it; one container if the spec has none."""
    whole = {"containers": [{"name": "c", "image": "busybox:1"}], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **meta}, "spec": copied(whole)}


def stamped(body: Pod) -> Pod:
    """A copy with what the server gives a new object."""
    server = {"namespace": "default", "uid": "u1", "creationTimestamp": TIME}
    result: Pod = {"apiVersion": "v1", "kind": "Pod", **copied(body)}
    result["metadata"] = {**server, **result.get("metadata", {})}
    return result


def created(body: Pod, switched: Mapping[str, bool] | None = None) -> Outcome:
    """Default, prepare, validate."""
    strategy, obj = kind(switched).strategy, stamped(body)
    strategy.default(obj)
    strategy.prepare_create(obj)
    errors = strategy.validate(obj) or metadata.validate_common(obj, namespaced=True)
    return Outcome(pod=obj, errors=tuple(errors), warnings=() if errors else tuple(strategy.warnings(obj)))


def stored(body: Pod, switched: Mapping[str, bool] | None = None) -> Pod:
    """A pod as it lies in the store; it must be a good one."""
    outcome = created(body, switched)
    assert outcome.causes == []
    outcome.pod["metadata"]["resourceVersion"] = "7"
    return outcome.pod


def changed(path: str, body: Pod, old: Pod, switched: Mapping[str, bool] | None = None) -> Outcome:
    """Default, prepare, validate on one of the update paths; the main path is ``update``."""
    pods, obj, before = kind(switched), copied(body), copied(old)
    rules = _rules(pods, path)
    pods.strategy.default(obj)
    obj["metadata"]["generation"] = before["metadata"].get("generation", 0)
    rules.prepare_update(obj, before)
    for key in ("creationTimestamp", "deletionTimestamp"):
        if key in before["metadata"]:
            obj["metadata"][key] = before["metadata"][key]
    for key in ("uid", "deletionGracePeriodSeconds"):
        if key in before["metadata"]:
            obj["metadata"].setdefault(key, before["metadata"][key])
    errors = metadata.validate_common_update(obj, before, namespaced=True)
    errors += rules.validate_update(obj, before)
    assert before == old, "the stored pod is nobody's to change"
    return Outcome(
        pod=obj,
        errors=tuple(errors),
        warnings=() if errors else tuple(rules.warnings_on_update(obj, before)),
    )


def _rules(pods: Kind, path: str) -> UpdateStrategy:
    if path == "update":
        return pods.strategy
    found = pods.subresource(path)
    assert found is not None
    assert found.update is not None
    return found.update
