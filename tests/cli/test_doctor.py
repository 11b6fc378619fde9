"""``flexlet doctor``: this host is what it is; the cluster's part and the form can be known."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Api, Command, until

from flexlet.adapters.kube import kubeconfig
from flexlet.apps import nodesize
from flexlet.cli.doctor import lines
from flexlet.cli.main import run
from flexlet.core import refs
from flexlet.core.doctor import Finding
from flexlet.core.nodesize import names
from flexlet.ports.cluster import Ref

pytestmark = pytest.mark.slow

CHECKS = ["python", "privileges", "cgroups", "hot plug", "containers", "machines", "cluster", "node sizes"]


def test_a_cluster_that_answers(api: Api, flexlet: Command) -> None:
    """With a cluster that answers and no purpose, nothing can fail."""
    code, printed, talk = flexlet("doctor", "-o", "json")
    found = json.loads(printed)
    assert (code, talk, [one["check"] for one in found]) == (0, "", CHECKS)
    server = kubeconfig.load(api.kubeconfig).server
    assert found[-2:] == [
        {"check": "cluster", "level": "ok", "found": f"{server} is Kubernetes v1.36.3", "advice": ""},
        {
            "check": "node sizes",
            "level": "warn",
            "found": "the cluster does not know NodeSize",
            "advice": "`flexlet print-manifests | kubectl apply -f -`, then run `flexlet controllers`",
        },
    ]


def test_a_cluster_that_is_not_there(
    api: Api, flexlet: Command, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that is named and does not answer fails; having none fails only if one is needed."""
    server = kubeconfig.load(api.kubeconfig).server
    dead = tmp_path / "dead"
    dead.write_text(api.kubeconfig.read_text().replace(server, "https://127.0.0.1:9"))
    assert run(["doctor", "--kubeconfig", str(dead)]) == 1
    assert "fail  cluster     https://127.0.0.1:9 does not answer\n" in capfd.readouterr().out
    nowhere = str(tmp_path / "nowhere")
    assert run(["doctor", "--kubeconfig", nowhere, "--for", "cluster"]) == 1
    assert "fail  cluster     no cluster\n" in capfd.readouterr().out
    assert run(["doctor", "--kubeconfig", nowhere]) == 0
    assert "warn  cluster     no cluster\n" in capfd.readouterr().out
    del flexlet


def test_advice_stands_below_its_line() -> None:
    found = [Finding("python", "ok", "3.11.7"), Finding("hot plug", "warn", "2 CPUs", "do this")]
    assert lines(found) == ["ok    python    3.11.7", "warn  hot plug  2 CPUs", "                do this"]


@pytest.fixture
def sized(api: Api, flexlet: Command) -> Iterator[Api]:
    """A cluster that knows NodeSizes, for one test."""
    api.do(nodesize.install)
    until(lambda: "the cluster knows NodeSize" in flexlet("doctor")[1])
    yield api
    api.delete(Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "nodesizes.flexlet.io")
    until(lambda: "the cluster does not know NodeSize" in flexlet("doctor")[1])


def test_what_is_in_the_way_of_balloons(sized: Api, flexlet: Command) -> None:
    """Looked at where NodeSizes are known."""
    assert "ok    balloons        nothing in their namespace is in their way\n" in flexlet("doctor")[1]
    quota = {"metadata": {"name": "all"}, "spec": {"hard": {"cpu": "8"}}}
    sized.create(Ref("", "v1", "resourcequotas"), quota, names.NAMESPACE)
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    daemons = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    sized.create(Ref(*refs.DAEMON_SETS), daemons, "default")
    code, printed, _ = flexlet("doctor", "-o", "json")
    found = {one["check"]: (one["level"], one["found"]) for one in json.loads(printed)}
    assert code == 0
    assert found["balloons"] == ("warn", "limited by ResourceQuota all")
    assert found["start-up taint"] == ("ok", "not tolerated by default/d")
