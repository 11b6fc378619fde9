"""Answers of a real kube-apiserver 1.36.3 that the tests of this folder compare with."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "data" / "api"


def lines(name: str) -> list[dict[str, Any]]:
    """One value per line of a recording."""
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]
