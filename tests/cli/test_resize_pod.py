"""``flexlet resize pod`` against a cluster with a hollow node: output, talk and exit codes."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests import servers
from tests.cli.conftest import Api, Command, Json, until

from flexlet.ports.cluster import PODS

pytestmark = pytest.mark.slow

DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3
TINY = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A cluster with one node of 8 CPUs and 32Gi, on paper."""
    with servers.flexlet(tmp_path_factory.mktemp("up"), "up", "--node", "hollow=1") as running:
        yield Api(running.kubeconfig)


def pod(api: Api, name: str, *containers: Json, **spec: Any) -> None:
    """A pod that runs."""
    listed = [{"name": f"c{number}", "image": "i", "resources": each} for number, each in enumerate(containers)]
    body = {"metadata": {"name": name}, "spec": {"containers": listed, **spec}}
    api.create(PODS, body, "default")
    until(lambda: api.get(PODS, name, "default")["status"].get("phase") == "Running")


@pytest.fixture
def web(api: Api) -> Iterator[Api]:
    """A pod of one container with one CPU and 1Gi."""
    pod(api, "web", TINY)
    yield api
    api.delete(PODS, "web", "default")


def test_a_pod_grows_in_place(web: Api, flexlet: Command) -> None:
    code, printed, _ = flexlet("resize", "pod", "web", "--cpu", "2", "--memory", "3Gi")
    assert code == DONE
    assert printed == (
        "web  c0  cpu     requests 1 -> 2      limits 1 -> 2\n"
        "web  c0  memory  requests 1Gi -> 3Gi  limits 1Gi -> 3Gi\n"
    )
    held = web.get(PODS, "web", "default")["status"]["containerStatuses"][0]
    assert held["resources"]["limits"] == {"cpu": "2", "memory": "3Gi"}


def test_a_plan_changes_nothing(web: Api, flexlet: Command) -> None:
    assert flexlet("resize", "pod", "web", "--cpu", "2", "--dry-run") == (
        DONE,
        "web  c0  cpu     requests 1 -> 2  limits 1 -> 2\nweb  c0  memory  requests 1Gi     limits 1Gi\n",
        "",
    )
    code, printed, _ = flexlet("resize", "pod", "web", "--cpu", "2", "--dry-run", "-o", "json")
    wanted = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    sent = {"spec": {"containers": [{"name": "c0", "resources": wanted}]}}
    assert (code, json.loads(printed)) == (DONE, {"pod": "default/web", "container": "c0", "patch": sent})
    assert web.get(PODS, "web", "default")["metadata"]["generation"] == 1


def test_what_the_node_defers_is_refused_with_its_words(web: Api, flexlet: Command) -> None:
    pod(web, "other", {"requests": {"cpu": "6"}})
    try:
        code, printed, talk = flexlet("resize", "pod", "web", "--cpu", "3")
        assert (code, printed) == (REFUSED, "")
        assert talk.splitlines()[-1] == (
            "web: refused (Deferred): Node didn't have enough resource: cpu, requested: 3000, used: 6000,"
            " capacity: 8000"
        )
    finally:
        web.delete(PODS, "other", "default")


def test_who_waits_for_a_deferred_resize_may_get_it(web: Api, flexlet: Command) -> None:
    pod(web, "other", {"requests": {"cpu": "6"}})
    leaving = threading.Timer(3, lambda: web.delete(PODS, "other", "default"))
    leaving.start()
    code, _, talk = flexlet("resize", "pod", "web", "--cpu", "3", "--deadline", "30")
    leaving.join()
    assert code == DONE
    assert "Deferred: Node didn't have enough resource: cpu" in talk


def test_what_the_api_refuses_is_refused(web: Api, flexlet: Command) -> None:
    """More than the node has is refused at once, and so is what would be another class of pod."""
    del web
    code, printed, talk = flexlet("resize", "pod", "web", "--cpu", "9", "-o", "json")
    assert code == REFUSED
    assert talk.startswith('web: refused (Forbidden): pods "web" is forbidden: ')
    found = json.loads(printed)
    assert (found["result"], found["reason"], found["before"]) == ("Refused", "Forbidden", found["after"])
    code, _, talk = flexlet("resize", "pod", "web", "--cpu", "1/2")
    assert code == REFUSED
    assert "Pod QOS Class may not change as a result of resizing" in talk


def test_a_pod_of_several_containers(api: Api, flexlet: Command) -> None:
    """As a whole where it has resources of its own; a container by its name."""
    level = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    pod(api, "team", {}, {"requests": {"cpu": "100m"}}, resources=level)
    try:
        code, printed, _ = flexlet("resize", "pod", "team", "--cpu", "2/3")
        assert (code, printed.splitlines()[0]) == (DONE, "team  (pod)  cpu     requests 1 -> 2  limits 2 -> 3")
        code, printed, _ = flexlet("resize", "pod", "team", "-c", "c1", "--cpu", "200m")
        assert (code, printed.splitlines()[0]) == (DONE, "team  c1  cpu     requests 0.1 -> 0.2  limits -")
    finally:
        api.delete(PODS, "team", "default")


def test_who_does_not_wait_is_told_where_to_look(web: Api, flexlet: Command) -> None:
    del web
    words = "web: asked for; `flexlet get pods -n default` shows how far it is\n"
    assert flexlet("resize", "pod", "web", "--cpu", "2", "--no-wait") == (DONE, "", words)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("web",), USAGE, "Error: say how big: --cpu AMOUNT, --memory AMOUNT, or both"),
        (("web", "--cpu", "1", "-c", "x"), FAILED, "error: pod web has no container x: it has c0"),
        (("nobody", "--cpu", "1"), FAILED, "error: there is no pod nobody in namespace default: there are web"),
        (
            ("nobody", "--cpu", "1", "-n", "void"),
            FAILED,
            "error: there is no pod nobody in namespace void: there are no pods",
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    web: Api, flexlet: Command, words: tuple[str, ...], code: int, complaint: str
) -> None:
    del web
    found = flexlet("resize", "pod", *words)
    assert (found[0], found[1], found[2].splitlines()[-1]) == (code, "", complaint)
