"""The machine `db` of the scenarios: 4 vCPUs of at most 16, 8Gi of 4Gi to 16Gi, with a screen."""

from typing import Any

from flexlet.api import decode
from flexlet.core.vm import guest, names
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine

Json = dict[str, Any]

DOMAIN: Json = {
    "cpu": {"sockets": 4, "maxSockets": 16},
    "memory": {"minGuest": "4Gi", "guest": "8Gi", "maxGuest": "16Gi"},
    "devices": {"autoattachGraphicsDevice": True},
}
POD: Json = {
    "name": "virt-launcher-db",
    "desired": {"cpu": "400m", "memory": "8520Mi"},
    "allocated": {"cpu": "400m", "memory": "8520Mi"},
    "actual": {"cpu": "400m", "memory": "8520Mi"},
}
RUNNING: Json = {
    "observedGeneration": 1,
    "printableStatus": "Running",
    "nodeName": "n1",
    "currentCPUTopology": {"sockets": 4, "cores": 1, "threads": 1},
    "memory": {"guestAtBoot": "8Gi", "guestCurrent": "8Gi", "guestRequested": "8Gi", "memoryOverhead": "328Mi"},
    "pod": POD,
}


def value(name: str = "db", domain: Json | None = None, *, requested: str = "", **status: Any) -> Json:
    """A machine as the API has it; `status` changes what it says of itself."""
    meta: Json = {"name": name, "namespace": "default", "generation": 1}
    if requested:
        meta["annotations"] = {names.REQUESTED: requested}
    spec = {"template": {"spec": {"domain": DOMAIN | (domain or {})}}}
    return {"metadata": meta, "spec": spec, "status": RUNNING | status}


def vm(name: str = "db", domain: Json | None = None, *, requested: str = "", **status: Any) -> FlexVM:
    """The same, decoded."""
    return decode.from_value(value(name, domain, requested=requested, **status), FlexVM)


def started(of: FlexVM) -> guest.Machine:
    """What its launcher has started."""
    return machine(of, Settings())
