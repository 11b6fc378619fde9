"""What QEMU 10.0.2 said, recorded from real machines with Linux 6.1 in them."""

import json
from pathlib import Path
from typing import Any

from flexlet.core.lab import events
from flexlet.core.lab.events import Event

RECORDED: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "qmp" / "recorded.json").read_text())
QUERIES: dict[str, Any] = RECORDED["queries"]
ERRORS: dict[str, dict[str, str]] = RECORDED["errors"]


def scenario(name: str) -> list[Event]:
    return [events.parse(message) for message in RECORDED["scenarios"][name]["events"]]
