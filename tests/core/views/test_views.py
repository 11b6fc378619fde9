"""What deciders get to see of objects."""

import msgspec
import pytest

from flexlet.api import selectors
from flexlet.api.meta import OwnerReference
from flexlet.api.pod import Toleration
from flexlet.core.views import budget, job, lease, node, objects, pod, replicaset
from flexlet.core.views.objects import ObjectView
from flexlet.core.views.pod import PodView

META = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "12"}


def encode(**parts: object) -> bytes:
    return msgspec.json.encode({"metadata": META} | parts)


def test_an_object_of_any_kind() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "o"}
    metadata = META | {"ownerReferences": [owner], "finalizers": ["x/y"], "deletionTimestamp": "t"}
    view, revision = objects.view(encode(metadata=metadata))
    assert view == ObjectView(
        uid="u",
        namespace="default",
        name="a",
        owners=(OwnerReference(api_version="v1", kind="Node", name="n", uid="o"),),
        finalizers=("x/y",),
        deleted_at="t",
    )
    assert (revision, view.deleting, view.controller) == (12, True, None)


def test_nulls_and_foreign_versions_do_no_harm() -> None:
    nothing = dict.fromkeys(("ownerReferences", "finalizers", "labels", "annotations"))
    view, revision = objects.view(encode(metadata=META | nothing | {"resourceVersion": "abc"}))
    assert (view, revision) == (ObjectView(uid="u", namespace="default", name="a"), 0)


def test_a_pod_in_flat_fields() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    annotations = {
        "controller.kubernetes.io/pod-deletion-cost": "-3",
        "batch.kubernetes.io/job-completion-index": "4",
        "other": "x",
    }
    raw = encode(
        metadata=META | {"labels": {"k": "v"}, "annotations": annotations, "creationTimestamp": "c"},
        spec={
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "tolerations": [{"operator": "Exists"}],
            "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "once"}],
        },
        status={
            "phase": "Running",
            "reason": "Evicted",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "r"},
                {"type": "DisruptionTarget", "status": "True"},
            ],
            "containerStatuses": [{"restartCount": 2}, {"restartCount": 5}],
            "initContainerStatuses": [{"name": "side", "restartCount": 3}, {"name": "once", "restartCount": 9}],
        },
    )
    view, _ = pod.view(raw)
    assert view == PodView(
        uid="u",
        namespace="default",
        name="a",
        labels={"k": "v"},
        created="c",
        target="n9",
        phase="Running",
        evicted=True,
        ready=True,
        ready_since="r",
        disrupted=True,
        restarts=5,
        sidecar_restarts=3,
        all_restarts=19,
        tolerations=(Toleration(operator="Exists"),),
        deletion_cost=-3,
        completion_index=4,
    )
    assert (view.active, view.finished) == (True, False)


def test_what_pods_have_in_common_is_held_once() -> None:
    """Ten thousand pods of a few owners must not hold ten thousand copies of their labels."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "w", "controller": True}
    metadata = META | {"labels": {"app": "web"}, "ownerReferences": [owner]}
    spec = {"nodeName": "n", "tolerations": [{"key": "k", "operator": "Exists"}]}
    one, _ = pod.view(encode(metadata=metadata, spec=spec))
    two, _ = pod.view(encode(metadata=metadata | {"uid": "v"}, spec=spec))
    assert one.labels is two.labels
    assert one.owners is two.owners
    assert one.tolerations is two.tolerations
    assert one.controller is two.controller is not None


ENDED = {"state": {"terminated": {"finishedAt": "2026-01-01T00:00:09Z"}}}
READY_FALSE = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:05Z"}


@pytest.mark.parametrize(
    ("status", "deleted", "when"),
    [
        ({"phase": "Running", "containerStatuses": [ENDED]}, None, ""),
        ({"phase": "Failed", "containerStatuses": [ENDED, ENDED]}, None, "2026-01-01T00:00:09Z"),
        (
            {"phase": "Failed", "containerStatuses": [ENDED, {}], "conditions": [READY_FALSE]},
            None,
            "2026-01-01T00:00:05Z",
        ),
        ({"phase": "Running"}, "2026-01-01T00:01:00Z", "2026-01-01T00:01:00Z"),
        ({"phase": "Failed"}, None, "created"),
    ],
    ids=["not yet", "containers", "readiness", "deletion", "creation"],
)
def test_when_a_pod_ended(status: dict[str, object], deleted: str | None, when: str) -> None:
    metadata = META | {"creationTimestamp": "created"} | ({"deletionTimestamp": deleted} if deleted else {})
    assert pod.view(encode(metadata=metadata, status=status))[0].finished_at == when


@pytest.mark.parametrize("text", ["x", "1.5", ""])
def test_numbers_in_annotations_that_are_none(text: str) -> None:
    annotations = {"controller.kubernetes.io/pod-deletion-cost": text}
    assert pod.view(encode(metadata=META | {"annotations": annotations}))[0].deletion_cost == 0


def test_an_affinity_that_names_no_single_node_has_no_target() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["a", "b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": []}, {"matchFields": [field]}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    assert pod.view(encode(spec=spec))[0].target == ""


def test_a_replica_set_keeps_its_template_as_it_is() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    selector = {"matchLabels": {"a": "b"}}
    view, _ = replicaset.view(encode(spec={"replicas": None, "selector": selector, "template": template}))
    assert (view.replicas, view.template_labels) == (1, {"a": "b"})
    assert msgspec.json.decode(view.template) == template
    assert view.selector == selectors.from_labels({"a": "b"})


def test_a_selector_that_cannot_be_read_selects_nothing() -> None:
    broken = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    view, _ = replicaset.view(encode(spec={"selector": broken}))
    assert view.selector is selectors.NOTHING


def test_defaults_of_a_job() -> None:
    view, _ = job.view(encode(spec={"parallelism": None, "backoffLimit": None, "successPolicy": None}))
    assert (view.parallelism, view.backoff_limit, view.unsupported, view.status.uncounted.failed) == (1, 6, (), ())


def test_conditions_of_a_node() -> None:
    view, revision = node.view(encode(status={"conditions": [{"type": "Ready", "status": "True"}]}))
    ready = view.condition("Ready")
    assert ready is not None
    assert (ready.status, view.condition("Other"), view.resource_version, revision) == ("True", None, "12", 12)


def test_leases_and_budgets() -> None:
    assert lease.view(encode(spec={"renewTime": "t"}))[0].renew_time == "t"
    assert budget.view(encode(spec={"minAvailable": "50%"}))[0].min_available == "50%"
