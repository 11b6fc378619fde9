"""As much of a cluster as simulated launchers need."""

from typing import Any

import msgspec

from flexlet.api.status import NotFound, Status
from flexlet.core.vm import names
from flexlet.core.vm.guest import Machine

Json = dict[str, Any]


class Pods:
    """Launcher pods that run, and what was written to them."""

    def __init__(self) -> None:
        self.pods: dict[str, Json] = {}
        self.patches: list[Json] = []

    def add(self, name: str, machine: Machine, ip: str = "10.0.0.1") -> None:
        status = {"phase": "Running", "podIP": ip, "containerStatuses": [{"name": "compute", "ready": True}]}
        self.pods[name] = {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": {names.MIGRATION_LABEL: "m"} if machine.incoming else {},
                "annotations": {names.MACHINE: msgspec.json.encode(machine).decode()},
            },
            "status": status,
        }

    async def get(self, _ref: Any, _namespace: str, name: str) -> bytes:
        if name not in self.pods:
            raise NotFound(Status(code=404))
        return msgspec.json.encode(self.pods[name])

    async def patch(self, _ref: Any, _namespace: str, name: str, patch: Json, **_: Any) -> bytes:
        self.patches.append(patch)
        self.pods[name]["status"] |= patch["status"]
        return b""
