"""A move of a virtual machine to another node, as people ask for it and see it."""

from typing import Any, Final

from flexlet.api.quantity import Quantity
from flexlet.core.sizes import words
from flexlet.core.sizes.wish import PENDING, Outcome
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVMMigration, MigrationStatus

_UNSEEN: Final = "the controllers have not looked at it yet"


def body(vm: str, node: str) -> dict[str, Any]:
    """A new FlexVMMigration; without a node the scheduler finds one."""
    spec = {"vmName": vm} | ({"nodeName": node} if node else {})
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.MIGRATION_KIND,
        "metadata": {"generateName": f"{vm}-"},
        "spec": spec,
    }


def outcome(move: FlexVMMigration) -> Outcome:
    """How far it is."""
    status = move.status
    if status.phase == "Succeeded":
        return Outcome("Done", "Succeeded", told(status))
    if status.phase == "Failed":
        return Outcome("Failed", "MigrationFailed", status.message or "nobody has said why")
    return Outcome("Waiting", status.phase or PENDING, status.message or ("" if status.phase else _UNSEEN))


def told(status: MigrationStatus) -> str:
    """``n1 -> n2: 1.2Gi copied in 8.4 s, paused for 120 ms``."""
    copied = words.amount("memory", Quantity.of_bytes(status.transferred_bytes))
    time = f"{status.total_milliseconds / 1000:.1f} s"
    ways = f"{status.source_node or '?'} -> {status.target_node or '?'}"
    return f"{ways}: {copied} copied in {time}, paused for {status.downtime_milliseconds} ms"
