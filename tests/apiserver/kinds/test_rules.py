"""Rules of the small kinds that no recording shows: one line a rule."""

from typing import Any

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record

SIZE = 1024 * 1024
GROUPS = {
    **dict.fromkeys(("deployments", "replicasets", "daemonsets"), "apps"),
    "jobs": "batch",
    "leases": "coordination.k8s.io",
    "priorityclasses": "scheduling.k8s.io",
    "poddisruptionbudgets": "policy",
    **dict.fromkeys(("roles", "clusterroles", "rolebindings", "clusterrolebindings"), "rbac.authorization.k8s.io"),
}


def complaints(plural: str, body: Record) -> list[str]:
    """What is wrong with a new object, after defaults."""
    kind = recordings.kind_of(plural, GROUPS.get(plural, ""))
    obj = named(plural, body)
    kind.strategy.default(obj)
    kind.strategy.prepare_create(obj)
    return [str(error) for error in kind.strategy.validate(obj)]


def named(plural: str, body: Record) -> Record:
    """The body with a name and, where due, a namespace."""
    kind = recordings.kind_of(plural, GROUPS.get(plural, ""))
    place = {"namespace": "ns"} if kind.namespaced else {}
    return {**body, "metadata": {"name": "x", "uid": "u", **place, **body.get("metadata", {})}}


def cases() -> list[Any]:
    """The cases of ``rules.yaml``."""
    found = enumerate(recordings.scenarios("rules"))
    return [pytest.param(case, id=f"{index}-{case['kind']}") for index, case in found]


@pytest.mark.parametrize("case", cases())
def test_rules_of_new_objects(case: Record) -> None:
    """The words of kube-apiserver."""
    assert complaints(case["kind"], case["body"]) == case["errors"]


QUOTA = {"requests.cpu": "4", "limits.cpu": "2", "memory": "2Gi", "limits.memory": "1Gi"}


@pytest.mark.parametrize(
    ("plural", "body", "wanted"),
    [
        (
            "resourcequotas",
            {"spec": {"hard": QUOTA}},
            [
                "ResourceQuota requests.cpu (4) should be less than limits.cpu (2)",
                "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)",
            ],
        ),
        (
            "secrets",
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}},
            ["tls: failed to find any PEM data in certificate input"],
        ),
        (
            "nodes",
            {"spec": {"externalID": "x"}},
            ["spec.externalID: this field is deprecated, and is unused by Kubernetes"],
        ),
        ("configmaps", {}, []),
    ],
)
def test_warnings(plural: str, body: Record, wanted: list[str]) -> None:
    """What is accepted, with a remark."""
    kind = recordings.kind_of(plural)
    obj = named(plural, body)
    kind.strategy.default(obj)
    assert kind.strategy.warnings(obj) == wanted


def test_a_secret_is_limited_by_its_decoded_size() -> None:
    """A mebibyte, whatever base64 makes of it."""
    full = {"data": {"k": "A" * (SIZE // 3 * 4)}}
    over = {"data": {"k": "A" * (SIZE // 3 * 4 + 4)}}
    assert complaints("secrets", full) == []
    assert complaints("secrets", over) == ["data: Too long: may not be more than 1048576 bytes"]


def test_a_namespace_can_be_selected_by_a_generated_name() -> None:
    """The label is set once the name is known."""
    strategy = recordings.kind_of("namespaces").strategy
    obj: Record = {"metadata": {"generateName": "n-"}}
    strategy.default(obj)
    obj["metadata"]["name"] = "n-abcde"
    strategy.prepare_create(obj)
    assert obj == {
        "metadata": {
            "generateName": "n-",
            "name": "n-abcde",
            "labels": {"kubernetes.io/metadata.name": "n-abcde"},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


@pytest.mark.parametrize(("deleted", "phase", "fits"), [
    (False, "Active", True), (False, "Terminating", False), (True, "Terminating", True), (True, "Active", False),
])  # fmt: skip
def test_the_phase_of_a_namespace_follows_its_deletion(deleted: bool, phase: str, fits: bool) -> None:
    """Terminating if and only if it is being deleted."""
    sub = recordings.kind_of("namespaces").subresource("status")
    assert sub is not None
    assert sub.update is not None
    meta = {"name": "n", "resourceVersion": "1"} | ({"deletionTimestamp": recordings.TIME} if deleted else {})
    obj = {"metadata": meta, "spec": {}, "status": {"phase": phase}}
    state, word = ("not empty", "Terminating") if deleted else ("empty", "Active")
    refusal = f"status.Phase: Invalid value: \"{phase}\": may only be '{word}' if `deletionTimestamp` is {state}"
    assert [str(error) for error in sub.update.validate_update(obj, obj)] == ([] if fits else [refusal])
