"""kubectl that stays and looks: `-w`, `wait` and what they print while things change."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

import pytest
from tests.cluster import sessions
from tests.cluster.kubectl import Kubectl
from tests.cluster.tables import AGE, cells

pytestmark = pytest.mark.cluster


@contextmanager
def watching(kubectl: Kubectl, arguments: str) -> Iterator[Popen[str]]:
    """A kubectl that watches until the block ends."""
    with kubectl.popen(arguments) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def line(process: Popen[str]) -> list[str]:
    assert process.stdout is not None
    return cells(process.stdout.readline())


def test_get_watch_prints_one_header_and_every_change(kubectl: Kubectl) -> None:
    """The list first, then a line for each change, in the same columns."""
    kubectl("create configmap a --from-literal=k=1")
    with watching(kubectl, "get configmaps -w --field-selector metadata.name!=kube-root-ca.crt") as process:
        assert [line(process), line(process)] == [["NAME", "DATA", "AGE"], ["a", "1", AGE]]
        kubectl("create configmap b")
        assert line(process) == ["b", "0", AGE]
        kubectl('patch configmap b -p \'{"data":{"x":"y"}}\'')
        assert line(process) == ["b", "1", AGE]
        kubectl("delete configmap a")
        assert line(process) == ["a", "1", AGE]


def test_watch_events_say_what_happened(kubectl: Kubectl) -> None:
    """`--output-watch-events` names each event; one object can be watched alone."""
    kubectl("create configmap a")
    with watching(kubectl, "get configmap a -w --output-watch-events") as process:
        assert [line(process), line(process)] == [["EVENT", "NAME", "DATA", "AGE"], ["ADDED", "a", "0", AGE]]
        kubectl("label configmap a x=y")
        assert line(process) == ["MODIFIED", "a", "0", AGE]
        kubectl("create configmap b")
        kubectl("delete configmap a")
        assert line(process) == ["DELETED", "a", "0", AGE]


def test_a_selection_is_watched(kubectl: Kubectl) -> None:
    """Objects that begin to match are added, those that stop are deleted."""
    kubectl("create configmap a")
    kubectl("label configmap a in=yes")
    kubectl("create configmap b")
    with watching(kubectl, "get configmaps -l in=yes -w --output-watch-events --no-headers") as process:
        assert line(process) == ["ADDED", "a", "0", AGE]
        kubectl("label configmap b in=yes")
        assert line(process) == ["ADDED", "b", "0", AGE]
        kubectl("label configmap b in-")
        assert line(process) == ["DELETED", "b", "0", AGE]


def test_a_pod_is_watched_until_it_runs(kubectl: Kubectl) -> None:
    """From Pending to Running, one line each at least."""
    kubectl(f"apply -f {sessions.MANIFESTS}/pod.yaml")
    with watching(kubectl, "get pods -w --no-headers") as process:
        while line(process)[0] != "web":
            pass
        kubectl("run p --image=x:1")
        states = [line(process)]
        while states[-1][:3] != ["p", "1/1", "Running"]:
            states.append(line(process))
    assert ["p", "0/1", "Pending", "0", AGE] in states


def test_wait_sees_what_happens_later(kubectl: Kubectl) -> None:
    """Wait for creation, a condition, a value and deletion, begun before they are so."""
    waits = {
        "create": "create configmap later",
        "jsonpath={.data.k}=v": 'patch configmap later -p \'{"data":{"k":"v"}}\'',
        "delete": "delete configmap later",
    }
    for waiting, command in waits.items():
        with kubectl.popen(f"wait --timeout=20s --for={waiting} configmap/later") as process:
            kubectl(command)
            out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        # What is gone before kubectl looks is not mentioned.
        assert out == "configmap/later condition met\n" or (waiting, out) == ("delete", "")
    assert kubectl.refused("wait --for=condition=Ready pod --all --timeout=1s") == (
        "error: no matching resources found"
    )
