"""Who is a balloon to its node: a label is not enough."""

import pytest
from tests.pods import container
from tests.pods import pod as pod_of

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import MIRROR_ANNOTATION

LABEL = {"flexlet.io/balloon": "true"}


def pod(
    namespace: str, labels: dict[str, str], annotations: dict[str, str] | None = None, **spec: str | int
) -> Pod:
    made = pod_of(container("balloon", "1,1Gi"), **spec)  # type: ignore[arg-type]
    meta = ObjectMeta(name="b", uid="b", namespace=namespace, labels=labels, annotations=annotations or {})
    return Pod(metadata=meta, spec=made.spec)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (pod("kube-system", LABEL), True),
        (pod("kube-system", {"flexlet.io/balloon": "enabled"}), False),
        (pod("kube-system", {}), False),
        (pod("tenant", LABEL), False),
        (pod("tenant", LABEL, priority_class="mine", priority=1_000_000_000), False),
        (pod("balloons", LABEL, priority_class="flexlet-balloon"), True),
        (pod("balloons", LABEL, priority_class="system-node-balloon"), True),
        (pod("balloons", LABEL, priority_class="system-node-critical", priority=2_000_001_000), True),
        (pod("tenant", {}, priority_class="flexlet-balloon"), False),
        (pod("kube-system", LABEL, {MIRROR_ANNOTATION: "x"}), False),
    ],
)
def test_a_balloon_has_the_label_and_something_that_is_guarded(asked: Pod, answer: bool) -> None:
    assert is_balloon(asked) is answer
