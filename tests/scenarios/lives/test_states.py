"""What the resource managers write in a recorded life is what the kubelet wrote."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.lives import recording
from tests.scenarios.lives.replay import replay

from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE
from flexlet.testing import run
from flexlet.testing.memory import MemoryCheckpoints

Json = dict[str, Any]

RECORDED = [
    ("cpu-manager", CPU_FILE, "static, no pods"),
    ("cpu-manager", CPU_FILE, "static, exclusive pod running"),
    ("cpu-manager-plug", CPU_FILE, "after removal of the state file"),
    ("memory-manager", MEMORY_FILE, "static, no pods"),
    ("memory-manager", MEMORY_FILE, "static, Guaranteed pod running"),
]


def told(text: str | bytes) -> Json:
    """A state file without its version and its checksums; uids are another matter each time."""
    kept = ("policyName", "defaultCpuSet", "machineState", "entries")
    found = {key: value for key, value in msgspec.json.decode(text).items() if key in kept}
    return found | {"entries": list(found.get("entries", {}).values())}


@pytest.mark.parametrize(("name", "file", "moment"), RECORDED, ids=str)
def test_the_managers_write_what_the_kubelet_wrote(
    name: str, file: str, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = recording.load(name)
    then = life.extra[moment]
    written: list[Json] = []

    async def save(files: MemoryCheckpoints, name: str, data: bytes) -> None:
        files.files[name] = data
        if name == file:
            written.append(told(data))

    monkeypatch.setattr(MemoryCheckpoints, "save", save)
    run(replay(life, tmp_path))
    assert told(then.get("state", then)[file]) in written
