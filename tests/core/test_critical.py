import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod
from flexlet.core.critical import is_critical, is_node_critical

SYSTEM = 2_000_000_000


def annotated(**annotations: str) -> Pod:
    named = {key.replace("_", "."): value for key, value in annotations.items()}
    return replace(
        pod(container("a"), priority_class="system-node-critical"),
        metadata=ObjectMeta(annotations={f"kubernetes.io/{key}": value for key, value in named.items()}),
    )


@pytest.mark.parametrize(
    ("case", "critical", "node_critical"),
    [
        (pod(container("a")), False, False),
        (pod(container("a"), priority_class="system-node-critical"), False, False),
        (pod(container("a"), priority=SYSTEM - 1), False, False),
        (pod(container("a"), priority=SYSTEM), True, False),
        (pod(container("a"), priority=SYSTEM + 1000, priority_class="system-node-critical"), True, True),
        (annotated(config_source="api"), False, False),
        (annotated(config_source="file"), True, True),
        (annotated(config_mirror="abc"), True, True),
    ],
)
def test_protected_pods(case: Pod, critical: bool, node_critical: bool) -> None:
    """Static pods, their mirrors and pods of system priority are critical; the class makes them node-critical."""
    assert (is_critical(case), is_node_critical(case)) == (critical, node_critical)
