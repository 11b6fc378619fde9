"""Which ReplicaSet carries the current template, and the numbers that ``kubectl rollout history`` shows.

A rollout's revision is one more than the largest before it. Going back to a template that an old ReplicaSet still
has makes that one new again: it gets the next number, and its former ones are kept as history.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from flexlet.core.controllers import templates
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.deployment import fences
from flexlet.core.views.deployment import DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
}
_LONGEST_HISTORY: Final = 2000
_LONGEST_NAME: Final = 253
CONTROLLER: Final = Controller("apps/v1", "Deployment")


def by_age(rs: ReplicaSetView) -> tuple[str, str]:
    """Oldest first."""
    return rs.created, rs.name


def find_new(d: DeploymentView, sets: Iterable[ReplicaSetView]) -> ReplicaSetView | None:
    """The ReplicaSet of the current template; the oldest, should there be several."""
    wanted = templates.digest(d.template)
    return next((rs for rs in sorted(sets, key=by_age) if templates.digest(rs.template) == wanted), None)


def revision_of(rs: ReplicaSetView) -> int:
    """The ReplicaSet's revision; 0 if it has none that can be read."""
    return _number(rs.annotations.get(REVISION, ""))


def next_revision(old: Sequence[ReplicaSetView]) -> int:
    """The revision that the new ReplicaSet must have at least."""
    return max((revision_of(rs) for rs in old), default=0) + 1


def missing_annotations(d: DeploymentView, rs: ReplicaSetView, revision: int) -> dict[str, str]:
    """What the new ReplicaSet's annotations lack: copies of the Deployment's, its revision, its history."""
    copied = {key: text for key, text in d.annotations.items() if key not in _NOT_COPIED}
    missing = {key: text for key, text in copied.items() if rs.annotations.get(key) != text}
    before = rs.annotations.get(REVISION, "")
    if before and not before.isdecimal():
        return missing
    if _number(before) < revision:
        missing[REVISION] = str(revision)
        if before:
            missing[HISTORY] = _history(rs.annotations.get(HISTORY, ""), before)
    return missing


def size_annotations(d: DeploymentView) -> dict[str, str]:
    """What a ReplicaSet remembers of the Deployment's size, to tell a scaling from a rollout."""
    return {DESIRED: str(d.replicas), MAX: str(fences.most_pods(d))}


def noted_size(rs: ReplicaSetView, annotation: str) -> int | None:
    """The size that a ReplicaSet remembers."""
    text = rs.annotations.get(annotation, "")
    return int(text) if text.isdecimal() and int(text) < 2**31 else None


def body(d: DeploymentView, replicas: int, revision: int) -> dict[str, Any]:
    """The ReplicaSet of a new template."""
    label = {templates.HASH_LABEL: templates.hash_of(d.template, d.status.collision_count)}
    template = msgspec.json.decode(d.template)
    described = template.setdefault("metadata", {})
    described["labels"] = (described.get("labels") or {}) | label
    selector = msgspec.json.decode(d.raw_selector)
    selector["matchLabels"] = (selector.get("matchLabels") or {}) | label
    copied = {key: text for key, text in d.annotations.items() if key not in _NOT_COPIED}
    suffix = f"-{label[templates.HASH_LABEL]}"
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": d.name[: _LONGEST_NAME - len(suffix)] + suffix,
            "labels": dict(described["labels"]),
            "annotations": copied | {REVISION: str(revision)} | size_annotations(d),
            "ownerReferences": [CONTROLLER.reference(d)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": d.min_ready_seconds,
            "selector": selector,
            "template": template,
        },
    }


def _history(text: str, revision: str) -> str:
    """The former revisions, oldest first; the oldest are dropped where the text would be too long."""
    entries = [*(entry for entry in text.split(",") if entry), revision]
    while len(",".join(entries)) > _LONGEST_HISTORY:
        entries.pop(0)
    return ",".join(entries)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
