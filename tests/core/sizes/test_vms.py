from typing import Any

from flexlet.core.sizes.vms import rows


def vm(name: str, cpu: dict[str, Any], memory: str | None = None, **resize: str) -> dict[str, Any]:
    domain: dict[str, Any] = {"cpu": cpu} | ({"memory": {"guest": memory}} if memory else {})
    return {
        "metadata": {"namespace": "team", "name": name},
        "spec": {"template": {"spec": {"domain": domain}}},
        "status": {"resize": resize} if resize else {},
    }


def test_machines_are_shown_by_name() -> None:
    """Sockets, cores and threads multiply, unless vcpus says it shortly; what is not said is a stroke."""
    found = rows(
        [
            vm("b", {"sockets": 2, "cores": 3}, "4Gi", phase="PodDeferred", message="no room"),
            vm("a", {"vcpus": 5}, phase="Idle"),
            vm("c", {}, "1Gi"),
        ]
    )
    assert found == [
        ("NAMESPACE", "NAME", "VCPUS", "MEMORY", "RESIZE"),
        ("team", "a", "5", "-", "Idle"),
        ("team", "b", "6", "4Gi", "PodDeferred: no room"),
        ("team", "c", "1", "1Gi", "-"),
    ]
