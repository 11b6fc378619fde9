"""Updates of a real server, replayed through the strategies: the same stored object, or the same causes.

The recordings are walked in order; what a request found in the store is the last state that an answer showed.
"""

from typing import Any

import msgspec
import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record, copied

from flexlet.apiserver.contract.kind import Kind, UpdateStrategy
from flexlet.apiserver.kinds import metadata

FILES = ("crd", "crud", "delete", "errors", "patch")
KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
MERGED = ("application/merge-patch+json", "application/strategic-merge-patch+json")
# What the pipeline answers by itself: parameters, unknown fields, identity.
NOT_ABOUT_THE_OBJECT = {
    *("patch", "dryRun", "fieldManager", "force", "resourceVersionMatch"),
    *("metadata.uid", "metadata.resourceVersion"),
}
MERGED_BY_KEY = ("conditions", "addresses", "finalizers", "ownerReferences", "containers")
# Between the last answer and the request somebody wrote more than the status, or unknown fields were sent; the
# first one's body was changed by the recorder after it was sent.
UNSEEN_WRITES = {
    *(("crud", 9), ("crud", 82), ("delete", 86), ("patch", 21), ("patch", 23), ("patch", 24), ("patch", 58)),
}


class Change(msgspec.Struct):
    """One recorded update with the state it met."""

    kind: Kind
    path: UpdateStrategy
    old: Record
    record: Record

    def wanted_object(self) -> Record:
        """The body that the request amounts to."""
        body: Record = copied(self.record["request_body"])
        if self.record["method"] == "PATCH":
            body = merged(copied(self.old), body)
        return body

    def prepared(self) -> Record:
        """The object after everything that happens before validation."""
        obj = self.wanted_object()
        header: Record = {key: obj.pop(key) for key in ("kind", "apiVersion") if key in obj}
        obj["metadata"].pop("managedFields", None)
        self.kind.strategy.default(obj)
        obj |= header
        take(obj["metadata"], self.old["metadata"], "generation", "resourceVersion")
        self.path.prepare_update(obj, self.old)
        take(obj["metadata"], self.old["metadata"], *KEPT)
        return obj


def take(meta: Record, old: Record, *fields: str) -> None:
    for field in fields:
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)


def merged(target: Any, patch: Any) -> Any:
    """A merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def changes(status: int) -> list[Any]:
    """Recorded PUTs, and merge patches where nothing but merging is asked for."""
    found = []
    for file in FILES:
        states: dict[str, Record] = {}
        for record in recordings.lines(file):
            change = _change(record, states)
            known = (file, record["seq"]) not in UNSEEN_WRITES
            if change is not None and record["status"] == status and known:
                found.append(pytest.param(change, id=f"{file}-{record['seq']}-{record['client'][:40]}"))
            _remember(record, states)
    return found


def _change(record: Record, states: dict[str, Record]) -> Change | None:
    kind, _, rest = recordings.target(record["path"])
    merges = record["method"] == "PATCH" and record["request_headers"].get("Content-Type") in MERGED
    if kind is None or kind.kind == "Pod" or not rest or not (record["method"] == "PUT" or merges):
        return None
    old = states.get("/".join([kind.plural, *_place(record)]))
    body = record.get("request_body")
    if old is None or not isinstance(body, dict) or "$" in msgspec.json.encode(body).decode():
        return None
    if merges and "strategic" in record["request_headers"]["Content-Type"] and _merges_by_key(body):
        return None
    path: UpdateStrategy | None = kind.strategy
    if len(rest) > 1:
        sub = kind.subresource(rest[1])
        path = None if sub is None else sub.update
    causes = record["response_body"].get("details", {}).get("causes", ())
    if path is None or any(cause["field"] in NOT_ABOUT_THE_OBJECT for cause in causes):
        return None
    return Change(kind, path, _with_reported_status(old, record, path is kind.strategy), record)


def _with_reported_status(old: Record, record: Record, main_path: bool) -> Record:
    """Controllers report status between requests; the main path must keep what they wrote."""
    answer = record["response_body"]
    if main_path and "metadata" in answer and isinstance(answer.get("status"), dict):
        return {**old, "status": answer["status"]}
    return old


def _merges_by_key(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return any(key in MERGED_BY_KEY or _merges_by_key(item) for key, item in value.items())


def _place(record: Record) -> list[str]:
    _, namespace, rest = recordings.target(record["path"])
    return [namespace, rest[0] if rest else ""]


def _remember(record: Record, states: dict[str, Record]) -> None:
    kind, _, _ = recordings.target(record["path"])
    answer = record.get("response_body")
    dry = "All" in (record.get("query") or {}).values()
    if kind is None or not kind.stored or not isinstance(answer, dict) or answer.get("kind") != kind.kind or dry:
        return
    meta = answer["metadata"]
    state = copied(answer)
    state["metadata"].pop("managedFields", None)
    states["/".join([kind.plural, meta.get("namespace", ""), meta["name"]])] = state


@pytest.mark.parametrize("change", changes(200))
def test_a_changed_object_is_the_recorded_one(change: Change) -> None:
    """What a path ignores, what it counts, and what it stores are kube-apiserver's."""
    obj = change.prepared()
    wanted = copied(change.record["response_body"])
    for each in (obj, wanted):
        for field in ("kind", "apiVersion"):
            each.pop(field, None)
    errors = change.path.validate_update(obj, change.old)
    errors += metadata.validate_common_update(obj, change.old, namespaced=change.kind.namespaced)
    for field in ("managedFields", "resourceVersion"):
        wanted["metadata"].pop(field, None)
        obj["metadata"].pop(field, None)
    assert obj == wanted
    assert errors == []


@pytest.mark.parametrize("change", changes(422))
def test_a_refused_change_has_the_recorded_causes(change: Change) -> None:
    """The same fields, reasons and words, as often as upstream says them."""
    obj = change.prepared()
    errors = metadata.validate_common_update(obj, change.old, namespaced=change.kind.namespaced)
    errors += change.path.validate_update(obj, change.old)
    assert recordings.found(errors) == recordings.causes(change.record)
