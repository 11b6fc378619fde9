"""What people are told: the texts a kubelet wrote."""

import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod
from flexlet.core.actions import RecordEvent
from flexlet.core.resize import events
from flexlet.core.resize.verdict import Deferred, Infeasible

ABOUT = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "p", "uid": "u"}


def named(spec: Pod, generation: int = 2) -> Pod:
    return replace(spec, metadata=ObjectMeta(name="p", namespace="default", uid="u", generation=generation))


POD = named(pod(container("a", "80m,24Mi", "150m,48Mi"), init=(container("i", "60m,16Mi", "60m,32Mi"),)))
A = '{"name":"a","resources":{"limits":{"cpu":"150m","memory":"48Mi"},"requests":{"cpu":"80m","memory":"24Mi"}}}'
I = '{"name":"i","resources":{"limits":{"cpu":"60m","memory":"32Mi"},"requests":{"cpu":"60m","memory":"16Mi"}}}'  # noqa: E741
BOTH = f'"initContainers":[{I}],"containers":[{A}]'
EMPTY = named(pod(container("c")))


@pytest.mark.parametrize(
    ("event", "kind", "reason", "message"),
    [
        (events.started(POD), "Normal", "ResizeStarted", f'Pod resize started: {{{BOTH},"generation":2}}'),
        (
            events.completed(POD, 1),
            "Normal",
            "ResizeCompleted",
            f'Pod resize completed: {{{BOTH},"generation":1}}',
        ),
        (
            events.refused(EMPTY, Deferred("OutOfmemory", "full")),
            "Warning",
            "ResizeDeferred",
            'Pod resize OutOfmemory: {"containers":[{"name":"c","resources":{}}],"generation":2,"error":"full"}',
        ),
        (
            events.refused(EMPTY, Infeasible("x", 'policy "static"')),
            "Warning",
            "ResizeInfeasible",
            (
                'Pod resize Infeasible: {"containers":[{"name":"c","resources":{}}],"generation":2,'
                '"error":"policy \\"static\\""}'
            ),
        ),
        (
            events.failed(EMPTY, 3, "a < b"),
            "Warning",
            "ResizeError",
            (
                'Pod resize error: {"containers":[{"name":"c","resources":{}}],"generation":3,'
                '"error":"a \\u003c b"}'
            ),
        ),
        (events.preempted(EMPTY), "Warning", "Preempting", "Preempted in order to admit critical pod"),
        (
            events.features_missing(EMPTY, ("A", "B")),
            "Warning",
            "FailedNodeDeclaredFeaturesCheck",
            "Pod requires node features that are not available: A, B",
        ),
    ],
)
def test_events(event: RecordEvent, kind: str, reason: str, message: str) -> None:
    assert event == RecordEvent(about=ABOUT, type=kind, reason=reason, message=message, component="kubelet")


def test_a_restart_is_about_a_container() -> None:
    about = ABOUT | {"fieldPath": "spec.containers{a}"}
    text = "Container a resize requires restart"
    assert events.restarting(POD, "a") == RecordEvent(
        about=about, type="Normal", reason="Killing", message=text, component="kubelet"
    )
    assert events.restarting(POD, "i", init=True).about["fieldPath"] == "spec.initContainers{i}"
