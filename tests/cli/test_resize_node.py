"""``flexlet resize node`` against a server and a controller that says what it is told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.conftest import Api, Command, Json, until

from flexlet.api.status import ApiError, NotFound
from flexlet.cli.manifests import manifests, objects
from flexlet.core.nodesize import names
from flexlet.ports.cluster import NODES, PODS, Ref

pytestmark = pytest.mark.slow

DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3
NODE_SIZES = Ref(*names.NODE_SIZES)
DEFINITIONS = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")
TEACH = (
    "error: this cluster does not know NodeSize: `flexlet print-manifests | kubectl apply -f -` teaches it, and"
    " `flexlet controllers` does what NodeSizes say\n"
)


def knows(api: Api) -> bool:
    try:
        api.do(lambda cluster: cluster.list(NODE_SIZES))
    except NotFound:
        return False
    return True


@pytest.fixture
def node(api: Api) -> Iterator[Api]:
    """A node of 8 CPUs and 32Gi, with a pod of 7 CPUs and 4Gi."""
    api.node("n1", {"cpu": "8", "memory": "32Gi"})
    api.pod("web", "n1", {"requests": {"cpu": "7", "memory": "4Gi"}})
    yield api
    api.delete(PODS, "web", "default")
    api.delete(NODES, "n1")


@pytest.fixture
def kind(node: Api) -> Api:
    """The cluster knows NodeSizes, and there are none."""
    if not knows(node):
        (definition,) = objects(manifests(["nodesize"]))
        node.create(DEFINITIONS, definition)
        until(lambda: knows(node))
    for item in node.do(lambda cluster: cluster.list(NODE_SIZES)).items:
        node.delete(NODE_SIZES, json.loads(item)["metadata"]["name"])
    return node


@contextmanager
def answered(api: Api, *answers: Json) -> Iterator[None]:
    """A controller that says this of a wish, one status after the other."""
    stop = threading.Event()

    def answer() -> None:
        for status in answers:
            while not stop.is_set() and not _say(api, status):
                stop.wait(0.02)
            stop.wait(0.4)

    controller = threading.Thread(target=answer)
    controller.start()
    try:
        yield
    finally:
        stop.set()
        controller.join()


def _say(api: Api, status: Json) -> bool:
    try:
        meta = api.get(NODE_SIZES, "n1")["metadata"]
        progress = [{"resource": "cpu", "request": meta["annotations"][names.REQUESTED]}]
        seen = {"observedGeneration": meta["generation"], "progress": progress}
        api.patch(NODE_SIZES, "n1", {"status": seen | status}, subresource="status")
    except ApiError:
        return False
    return True


def conditions(**held: tuple[str, str, str]) -> Json:
    return {
        "conditions": [
            {"type": kind, "status": status, "reason": reason, "message": message}
            for kind, (status, reason, message) in held.items()
        ]
    }


LACKS = "cpu: 4 more is wanted and there is room for 1"
INFLATING = conditions(Ready=("False", "Resizing", ""), Resizing=("True", "Inflating", "balloon to memory 16Gi"))
READY = conditions(Ready=("True", "AsWanted", ""))
NO_ROOM = conditions(Ready=("False", "Refused", ""), Insufficient=("True", "Refused", LACKS))
SAME_SIZE = "n1  cpu     effective 8     balloon 0\nn1  memory  effective 32Gi  balloon 0\n"


def test_a_cluster_that_knows_no_node_sizes_can_learn_it(node: Api, flexlet: Command) -> None:
    if knows(node):
        node.delete(DEFINITIONS, "nodesizes.flexlet.io")
        until(lambda: not knows(node))
    assert flexlet("resize", "node", "n1", "--cpu", "4") == (FAILED, "", TEACH)


def test_a_node_is_resized_with_progress(kind: Api, flexlet: Command) -> None:
    with answered(kind, INFLATING, READY):
        code, printed, talk = flexlet("resize", "node", "n1", "--cpu", "8", "--memory", "16Gi")
    assert (code, printed) == (DONE, SAME_SIZE)
    told = [line.split("  ")[-1] for line in talk.splitlines()]
    assert told[-1:] == ["Inflating: balloon to memory 16Gi"]
    assert set(told[:-1]) <= {"Pending: the controllers have not looked at it yet"}
    assert kind.get(NODE_SIZES, "n1")["spec"]["target"] == {"effective": {"cpu": "8", "memory": "16Gi"}}


def test_a_refusal_has_its_reason(kind: Api, flexlet: Command) -> None:
    with answered(kind, NO_ROOM):
        code, printed, talk = flexlet("resize", "node", "n1", "--cpu", "4", "-o", "json")
    found = json.loads(printed)
    assert (code, talk.splitlines()[-1]) == (REFUSED, f"n1: refused: {LACKS}")
    assert (found["result"], found["reason"], found["message"]) == ("Refused", "Refused", LACKS)
    assert found["before"] == found["after"]


def test_without_controllers_the_wait_ends(kind: Api, flexlet: Command) -> None:
    del kind
    code, _, talk = flexlet("resize", "node", "n1", "--cpu", "8", "--timeout", "0.5")
    assert code == FAILED
    assert talk.splitlines()[-1] == (
        "n1: failed (Timeout): not done within 0.5 s: Pending: the controllers have not looked at it yet;"
        " is `flexlet controllers` running?"
    )


def test_a_second_wish_changes_the_first(kind: Api, flexlet: Command) -> None:
    words = "n1: asked for; `flexlet get node n1` shows how far it is\n"
    assert flexlet("resize", "node", "n1", "--cpu", "4", "--no-wait") == (DONE, "", words)
    assert flexlet("resize", "node", "n1", "--memory", "8Gi", "--via", "Auto", "--no-wait")[0] == DONE
    defaults = {"deadlineSeconds": 60, "capacityChange": "Expose", "enforce": "None"}
    found = kind.get(NODE_SIZES, "n1")["spec"]
    assert found == defaults | {"via": "Auto", "target": {"effective": {"cpu": "4", "memory": "8Gi"}}}
    options = ("--balloon", "--on-insufficient", "Defer", "--deadline", "5")
    assert flexlet("resize", "node", "n1", "--cpu", "1", *options, "--no-wait")[0] == DONE
    found = kind.get(NODE_SIZES, "n1")["spec"]
    assert found == defaults | {
        "via": "Auto",
        "target": {"balloon": {"cpu": "1"}},
        "onInsufficient": "Defer",
        "deadlineSeconds": 5,
    }
    assert "Wanted size:     balloon cpu 1, via Auto\n" in flexlet("get", "node", "n1")[1]


PLAN = """\
n1  cpu     effective 8 -> 7.5      balloon 0 -> 0.5   inflate by 0.5
n1  memory  effective 32Gi -> 16Gi  balloon 0 -> 16Gi  inflate by 16Gi
"""


def test_a_plan(kind: Api, flexlet: Command) -> None:
    """Exit code 3 if some of it would not be done at once."""
    del kind
    assert flexlet("resize", "node", "n1", "--cpu", "7.5", "--memory", "16Gi", "--dry-run") == (DONE, PLAN, "")
    code, printed, _ = flexlet("resize", "node", "n1", "--cpu", "4", "--dry-run")
    assert (code, printed) == (REFUSED, "n1  cpu  effective 8  balloon 0  refused: pods have 3 of it\n")
    code, printed, _ = flexlet("resize", "node", "n1", "--cpu", "4", "--dry-run", "-o", "json")
    plan = {
        "resource": "cpu",
        "verdict": "refused",
        "before": "8",
        "after": "8",
        "allocatable": "8",
        "balloon": "0",
        "goal": "0",
        "amount": "0",
        "missing": "3",
    }
    assert (code, json.loads(printed)) == (REFUSED, {"node": "n1", "plan": [plan]})


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("n1",), USAGE, "Error: say how big: --cpu N, --memory SIZE, or both"),
        (("n1", "--cpu", "-1"), USAGE, "Error: Invalid value for '--cpu': '-1' is less than nothing"),
        (("n1", "--via", "Magic"), USAGE, None),
        (("n9", "--cpu", "1"), FAILED, "error: there is no node n9: there are n1"),
    ],
)
def test_what_cannot_be_done_is_said(
    node: Api, flexlet: Command, words: tuple[str, ...], code: int, complaint: str | None
) -> None:
    del node
    found = flexlet("resize", "node", *words)
    assert (found[0], found[1]) == (code, "")
    assert complaint is None or found[2].splitlines()[-1] == complaint
