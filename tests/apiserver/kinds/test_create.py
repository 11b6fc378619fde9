"""Creates of a real server, replayed through the strategies: the same stored object, or the same causes."""

from typing import Any

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import User
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.certificate import requester

FILES = ("admission", "crd", "crud", "delete", "errors", "patch", "tables")
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
# Refused before a strategy is asked: bad parameters of the request.
PARAMETERS = {"dryRun", "fieldValidation", "fieldManager", "force"}


def creates(status: int) -> list[Any]:
    """Recorded POSTs of whole objects of our kinds, Pods aside."""
    return [
        pytest.param(record, id=f"{file}-{record['seq']}-{record['client'][:40]}")
        for file in FILES
        for record in recordings.lines(file)
        if record["method"] == "POST" and record["status"] == status and _is_ours(record)
    ]


def _is_ours(record: Record) -> bool:
    kind, _, rest = recordings.target(record["path"])
    body = record.get("request_body")
    shown = record["response_body"].get("kind")
    return (
        kind is not None
        and kind.stored
        and kind.kind != "Pod"
        and not rest
        and isinstance(body, dict)
        and "<protobuf>" not in body
        and shown != "Table"
        and not _blames_parameters(record["response_body"])
    )


def _blames_parameters(answer: Record) -> bool:
    causes = answer.get("details", {}).get("causes", ())
    return any(cause["field"] in PARAMETERS for cause in causes)


def prepared(kind: Kind, namespace: str, body: Record, like: Record) -> Record:
    """The body after everything that happens before validation; server-set metadata as in `like`."""
    body.setdefault("metadata", {})
    body["metadata"].pop("namespace", None)
    if namespace:
        body["metadata"]["namespace"] = namespace
    kind.strategy.default(body)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"):
        body["metadata"].pop(field, None)
    for field in ("uid", "creationTimestamp", "name"):
        if field in like:
            body["metadata"][field] = like[field]
    if kind.kind == "Node":
        body["spec"]["taints"] = [*body["spec"].get("taints", []), NOT_READY]
    kind.strategy.prepare_create(body)
    return body


@pytest.mark.parametrize("record", creates(201))
def test_a_stored_object_is_the_recorded_one(record: Record) -> None:
    """Defaults, shape and what the server sets are those of kube-apiserver."""
    record = recordings.copied(record)
    kind, namespace, _ = recordings.target(record["path"])
    assert kind is not None
    wanted = {key: value for key, value in record["response_body"].items() if key not in {"kind", "apiVersion"}}
    for field in ("managedFields", "resourceVersion"):
        wanted["metadata"].pop(field, None)
    body = {key: value for key, value in record["request_body"].items() if key not in {"kind", "apiVersion"}}
    known = {key: value for key, value in body.items() if key not in {"bar", "Data", "dataa"}}
    known.get("metadata", {}).pop("foo", None)
    obj = prepared(kind, namespace, known, wanted["metadata"])
    if kind.kind == "CertificateSigningRequest":
        spec = wanted["spec"]
        extra = {key: tuple(values) for key, values in spec["extra"].items()}
        requester.stamp(obj, User(name=spec["username"], groups=tuple(spec["groups"]), extra=extra))
    assert obj == wanted
    assert kind.strategy.validate(obj) == []
    assert metadata.validate_common(obj, namespaced=kind.namespaced) == []


@pytest.mark.parametrize("record", creates(422))
def test_a_refusal_has_the_recorded_causes(record: Record) -> None:
    """The same fields, the same reasons, the same words."""
    wanted = recordings.causes(record)
    kind, namespace, _ = recordings.target(record["path"])
    assert kind is not None
    body = recordings.copied(record["request_body"])
    for field in ("kind", "apiVersion"):
        body.pop(field, None)
    like = {"uid": "u", "creationTimestamp": recordings.TIME}
    if "generateName" in body.get("metadata", {}):
        like["name"] = record["response_body"]["details"]["name"]
    obj = prepared(kind, namespace, body, like)
    assert recordings.found(kind.strategy.validate(obj)) == wanted
