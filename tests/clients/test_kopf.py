"""A kopf operator, unchanged and in a process of its own: it watches, patches, holds by a finalizer, tells."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from tests.clients import manifests
from tests.servers import Running

pytestmark = pytest.mark.slow

OPERATOR = Path(__file__).with_name("widget_operator.py")
NAMESPACE = "widgets"
PATIENCE_S = 30


@pytest.fixture(scope="module")
def api(server: Running) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(server.kubeconfig)) as opened:
        client.CoreV1Api(opened).create_namespace(manifests.namespace(NAMESPACE))
        client.ApiextensionsV1Api(opened).create_custom_resource_definition(manifests.widgets())
        yield opened


@pytest.fixture(scope="module")
def operator(api: client.ApiClient, server: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The operator, and where it logs; at the end it must stop on request."""
    assert api
    log = tmp_path_factory.mktemp("operator") / "log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace", NAMESPACE, str(OPERATOR)]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    with (
        log.open("w") as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT) as process,
    ):
        yield log
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    assert "Traceback" not in log.read_text()


class Widgets:
    """Widgets through the official client, and waiting for what the operator makes of them."""

    def __init__(self, api: client.ApiClient, log: Path) -> None:
        self._api = client.CustomObjectsApi(api)
        self._log = log
        self._place = {"group": "example.com", "version": "v1", "namespace": NAMESPACE, "plural": "widgets"}

    def create(self, name: str, **spec: Any) -> None:
        body = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": spec,
        }
        self._api.create_namespaced_custom_object(**self._place, body=body)

    def get(self, name: str) -> Any:
        return self._api.get_namespaced_custom_object(**self._place, name=name)

    def patch(self, name: str, body: Any) -> None:
        self._api.patch_namespaced_custom_object(**self._place, name=name, body=body)

    def delete(self, name: str) -> None:
        self._api.delete_namespaced_custom_object(**self._place, name=name)

    def until(self, found: Callable[[], Any]) -> Any:
        """What `found` gives once it is true; the operator's log if it never is."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            value = found()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(self._log.read_text())


@pytest.fixture
def widgets(api: client.ApiClient, operator: Path) -> Widgets:
    return Widgets(api, operator)


def test_the_operator_lives_with_a_widget(api: client.ApiClient, widgets: Widgets) -> None:
    """Create, change and delete: each is seen, acted on, and written back as kopf does it."""
    core = client.CoreV1Api(api)
    widgets.create("w", color="red")
    stored = widgets.until(lambda: (found := widgets.get("w")).get("status", {}).get("create") and found)
    assert stored["status"]["create"] == {"child": "w-colors"}
    assert stored["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    child = core.read_namespaced_config_map("w-colors", NAMESPACE)
    assert child.data == {"color": "red", "size": "1"}
    assert [owner.name for owner in child.metadata.owner_references] == ["w"]

    widgets.patch("w", {"spec": {"color": "blue"}})
    widgets.until(lambda: widgets.get("w")["status"].get("color") == "blue")
    assert core.read_namespaced_config_map("w-colors", NAMESPACE).data["color"] == "blue"

    events = core.list_namespaced_event(NAMESPACE, field_selector="involvedObject.kind=Widget")
    assert "Painted" in {event.reason for event in events.items}

    widgets.delete("w")
    widgets.until(lambda: gone(lambda: widgets.get("w")))
    assert gone(lambda: core.read_namespaced_config_map("w-colors", NAMESPACE))


def gone(read: Callable[[], Any]) -> bool:
    try:
        read()
    except ApiException as error:
        return bool(error.status == 404)
    return False
