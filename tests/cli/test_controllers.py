"""``flexlet controllers`` as a process, with no more rights than the manifests give it."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Api, Command, Json, until
from tests.cli.test_manifests import APPLIED_AS, CONTROLLERS

from flexlet.adapters.kube import kubeconfig
from flexlet.api.status import ApiError
from flexlet.apiserver.auth.kubeconfig import kubeconfig as written
from flexlet.cli.manifests import manifests, objects
from flexlet.core.nodesize import names
from flexlet.ports.cluster import LEASES, NODES, PODS, Ref

pytestmark = pytest.mark.slow

ACCOUNTS = Ref("", "v1", "serviceaccounts")
BALLOON = "flexlet-balloon-n1"
HOME = names.NAMESPACE
SMALLER = """\
n1  cpu     effective 8 -> 4        balloon 0 -> 4
n1  memory  effective 32Gi -> 16Gi  balloon 0 -> 16Gi
"""


@pytest.fixture(scope="module")
def cluster(api: Api) -> Api:
    """A cluster with a node of a stock kubelet, to which the manifests were applied."""
    for each in objects(manifests(["namespace", "nodesize", "priority", "rbac"])):
        api.create(APPLIED_AS[each["kind"]], each, each["metadata"].get("namespace", ""))
    api.node("n1", {"cpu": "8", "memory": "32Gi", "pods": "110"})
    api.patch(NODES, "n1", {"status": {"nodeInfo": {"kubeletVersion": "v1.36.3"}}}, subresource="status")
    return api


@contextmanager
def controllers(api: Api, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command, in the name of its service account."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = api.do(
        lambda cluster: cluster.create(ACCOUNTS, "flexlet-system", asked, path="flexlet-controllers/token")
    )
    token = msgspec.json.decode(made)["status"]["token"]
    admin, path = kubeconfig.load(api.kubeconfig), folder / "controllers.kubeconfig"
    path.write_text(written(admin.server, admin.ca.decode(), CONTROLLERS, token))
    flags = ("--kubeconfig", str(path), "--leader-elect")
    command = [sys.executable, "-m", "flexlet", "controllers", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def kubelet(api: Api) -> Iterator[None]:
    """Grants whatever the balloon asks for."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            try:
                pod = api.get(PODS, BALLOON, HOME)
                api.patch(PODS, BALLOON, {"status": _granted(pod)}, HOME, subresource="status")
            except ApiError:
                continue

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _granted(pod: Json) -> Json:
    resources = pod["spec"]["containers"][0]["resources"]
    held = {"name": names.CONTAINER, "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    held |= {"resources": resources, "allocatedResources": resources["requests"]}
    return {"phase": "Running", "containerStatuses": [held], "observedGeneration": pod["metadata"]["generation"]}


def test_a_node_of_another_cluster_is_resized(cluster: Api, flexlet: Command, tmp_path: Path) -> None:
    """Made, inflated, deflated and described, by an account that may nothing else; it stops when told."""
    with controllers(cluster, tmp_path) as process, kubelet(cluster):
        code, printed, talk = flexlet("resize", "node", "n1", "--cpu", "4", "--memory", "16Gi", "--timeout", "60")
        assert (code, printed) == (0, SMALLER), talk
        code, printed, talk = flexlet("resize", "node", "n1", "--cpu", "6", "--timeout", "60")
        assert (code, printed.splitlines()[0]) == (0, "n1  cpu     effective 4 -> 6  balloon 4 -> 2"), talk
        pod = cluster.get(PODS, BALLOON, HOME)
        assert (pod["spec"]["priorityClassName"], pod["spec"]["priority"]) == (names.CLASS, names.CLASS_VALUE)
        lease = cluster.get(LEASES, names.LEASE, "flexlet-system")
        assert lease["spec"]["holderIdentity"].endswith(f"_{process.pid}")
        process.send_signal(signal.SIGTERM)
        printed, talk = process.communicate(timeout=20)
        assert (process.returncode, printed, "Traceback" in talk) == (0, "flexlet controllers run\n", False), talk
    until(lambda: not cluster.get(LEASES, names.LEASE, "flexlet-system")["spec"].get("holderIdentity"))


def test_a_kubeconfig_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    command = [sys.executable, "-m", "flexlet", "controllers", "--kubeconfig", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not exist" in done.stderr
