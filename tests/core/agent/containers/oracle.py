"""Answers of Kubernetes 1.36.3's own functions, recorded once."""

import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parents[3] / "data/containers"


def recorded(name: str) -> Any:
    """One file of answers."""
    return json.loads((_DATA / f"{name}.json").read_text())
