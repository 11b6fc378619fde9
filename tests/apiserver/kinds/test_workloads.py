"""Deployments, ReplicaSets, DaemonSets and their Scale: rules that no recording shows."""

import pytest
from tests.apiserver.kinds import recordings
from tests.apiserver.kinds.recordings import Record

from flexlet.apiserver.contract.kind import Kind, UpdateStrategy
from flexlet.apiserver.kinds import scale

GENERATION = "deprecated.daemonset.template.generation"


def kind_of(plural: str) -> Kind:
    return recordings.kind_of(plural, "apps")


def workload(plural: str, spec: Record | None = None, **pod: object) -> Record:
    """A workload that is fine, with defaults, and changed."""
    obj: Record = {
        "metadata": {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}], **pod},
            },
            **(spec or {}),
        },
    }
    kind_of(plural).strategy.default(obj)
    return obj


def status_path(plural: str) -> UpdateStrategy:
    sub = kind_of(plural).subresource("status")
    assert sub is not None
    assert sub.update is not None
    return sub.update


@pytest.mark.parametrize("case", recordings.scenarios("workloads"))
def test_rules_of_new_workloads(case: Record) -> None:
    """The words of kube-apiserver."""
    obj = workload(case["kind"], case.get("spec"), **case.get("pod", {}))
    kind_of(case["kind"]).strategy.prepare_create(obj)
    assert [str(error) for error in kind_of(case["kind"]).strategy.validate(obj)] == case["errors"]


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "daemonsets"])
def test_the_generation_counts_changes_of_the_spec(plural: str) -> None:
    """And of nothing else; amounts that mean the same are no change."""
    strategy = kind_of(plural).strategy
    old = workload(plural, containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}])
    old["status"] = {"observedGeneration": 1}
    same = workload(plural, containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}])
    same["metadata"]["labels"] = {"x": "y"}
    other = workload(plural, {"minReadySeconds": 3})
    for obj, wanted in ((same, 1), (other, 2)):
        strategy.prepare_update(obj, old)
        assert obj["metadata"]["generation"] == wanted
        assert obj["status"] == {"observedGeneration": 1}


def test_annotations_count_for_deployments_only() -> None:
    """Rollbacks were once asked for there."""
    for plural, wanted in (("deployments", 2), ("replicasets", 1)):
        old, obj = workload(plural), workload(plural)
        obj["metadata"]["annotations"] = {"x": "y"}
        kind_of(plural).strategy.prepare_update(obj, old)
        assert obj["metadata"]["generation"] == wanted


def test_the_template_generation_of_a_daemon_set() -> None:
    """It counts templates, and no client can change it."""
    strategy = kind_of("daemonsets").strategy
    old = workload("daemonsets")
    strategy.prepare_create(old)
    assert old["metadata"]["annotations"] == {GENERATION: "1"}
    same, other = workload("daemonsets", {"minReadySeconds": 1}), workload("daemonsets", hostNetwork=True)
    same["metadata"]["annotations"] = {GENERATION: "7"}
    for obj, wanted in ((same, "1"), (other, "2")):
        strategy.prepare_update(obj, old)
        assert obj["metadata"]["annotations"] == {GENERATION: wanted}
        assert strategy.validate_update(obj, old) == []


def test_a_deployments_status_path_keeps_spec_and_labels() -> None:
    """Annotations may change there."""
    old, obj = workload("deployments"), workload("deployments", {"replicas": 5})
    obj["metadata"] |= {"labels": {"x": "y"}, "annotations": {"n": "1"}}
    obj["status"] = {"replicas": 1}
    status_path("deployments").prepare_update(obj, old)
    assert obj == {
        **old,
        "metadata": {**old["metadata"], "annotations": {"n": "1"}},
        "status": {"replicas": 1},
    }


@pytest.mark.parametrize(
    ("plural", "status", "before", "wanted"),
    [
        ("deployments", {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1, "updatedReplicas": 2}, {}, []),
        (
            "deployments",
            {"replicas": 1, "readyReplicas": 1, "availableReplicas": 2, "updatedReplicas": 2},
            {"collisionCount": 1},
            [
                "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
                "status.collisionCount: Invalid value: 0: cannot be decremented",
            ],
        ),
        (
            "replicasets",
            {"replicas": -1, "fullyLabeledReplicas": 1},
            {},
            [
                "status.replicas: Invalid value: -1: must be greater than or equal to 0",
                "status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
            ],
        ),
        (
            "daemonsets",
            {"numberReady": -1},
            {},
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_status_counts_fit_each_other(plural: str, status: Record, before: Record, wanted: list[str]) -> None:
    """A part is never larger than the whole."""
    obj, old = {**workload(plural), "status": status}, {**workload(plural), "status": before}
    assert [str(error) for error in status_path(plural).validate_update(obj, old)] == wanted


def test_names_that_are_no_labels_are_warned_of() -> None:
    """Pods carry them as host names."""
    obj = workload("deployments")
    obj["metadata"]["name"] = "a.b"
    (warning,) = kind_of("deployments").strategy.warnings(obj)
    assert warning == (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS "
        "label is recommended: [must not contain dots]"
    )
    assert kind_of("daemonsets").strategy.warnings(obj) == []


def test_a_scale_is_the_recorded_one() -> None:
    """Zero replicas are left out of its spec but not of its status."""
    wanted = recordings.line("crud", 108)["response_body"]
    obj = workload("deployments", {"replicas": 0, "selector": {"matchLabels": {"a": "dep"}}})
    obj["metadata"] = {**wanted["metadata"], "generation": 3, "labels": {"x": "y"}}
    assert scale.to_scale(obj) == wanted


def test_a_scale_changes_replicas_and_names_the_version_it_saw() -> None:
    """Everything else of the workload stays."""
    obj = workload("replicasets", {"replicas": 1})
    wanted = scale.to_scale(obj)
    wanted["spec"] = {"replicas": 4}
    assert scale.scaled(obj, wanted) == {**obj, "spec": {**obj["spec"], "replicas": 4}}
    del wanted["metadata"]["resourceVersion"]
    assert "resourceVersion" not in scale.scaled(obj, wanted)["metadata"]


def test_a_scale_of_less_than_nothing_is_refused() -> None:
    """With the field of the Scale."""
    wanted = {"metadata": {"name": "w", "namespace": "ns"}, "spec": {"replicas": -1}}
    assert [str(error) for error in scale.validate_scale(wanted)] == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]
