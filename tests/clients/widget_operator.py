"""A small kopf operator: a ConfigMap for every Widget, its status kept, its deletion held until that is gone."""

from typing import Any

import kopf
import kubernetes

GROUP = "example.com"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = True
    settings.networking.request_timeout = 20


@kopf.on.create(GROUP, "v1", "widgets")
def create(spec: kopf.Spec, name: str | None, namespace: str | None, body: kopf.Body, **_: Any) -> dict[str, str]:
    """Make the Widget's ConfigMap, owned by it."""
    child: dict[str, Any] = {
        "metadata": {"name": f"{name}-colors"},
        "data": {"color": str(spec.get("color")), "size": str(spec.get("size"))},
    }
    kopf.adopt(child, owner=body)
    core = kubernetes.client.CoreV1Api()
    core.create_namespaced_config_map(namespace, child)
    kopf.info(body, reason="Painted", message=f"in {spec.get('color')}")
    return {"child": child["metadata"]["name"]}


@kopf.on.field(GROUP, "v1", "widgets", field="spec.color")
def paint(old: Any, new: Any, name: str | None, namespace: str | None, patch: kopf.Patch, **_: Any) -> None:
    """Follow a change of color."""
    patch.status["color"] = new
    if old is not None:
        core = kubernetes.client.CoreV1Api()
        core.patch_namespaced_config_map(f"{name}-colors", namespace, {"data": {"color": new}})


@kopf.on.delete(GROUP, "v1", "widgets")
def delete(name: str | None, namespace: str | None, **_: Any) -> None:
    """Take the ConfigMap away before the Widget may go."""
    core = kubernetes.client.CoreV1Api()
    core.delete_namespaced_config_map(f"{name}-colors", namespace)
