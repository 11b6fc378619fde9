"""The recorded lives of pods under a real kubelet 1.36.3, one file each in ``tests/data/lives``."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

Json = dict[str, Any]

FOLDER: Final = Path(__file__).parent.parent / "data" / "lives"
_NO_LIVES: Final = {"node"}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A pod as it was watched at one moment; several pods may share a life."""

    t_s: float
    type: str
    pod: str = ""
    generation: int = 0
    deletion_grace: int | None = msgspec.field(default=None, name="deletionGracePeriodSeconds")
    deletion: str = msgspec.field(default="", name="deletionTimestamp")
    spec_resources: Json | None = None
    """By container, and ``pod``; only where they changed."""
    status: Json = {}


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What was posted, what was done to it, and what was seen."""

    name: str
    what: str = ""
    pod: Json | None = None
    pods: tuple[Json, ...] = ()
    steps: tuple[Json, ...] = ()
    watch: tuple[Entry, ...] = ()
    events: tuple[Json, ...] = ()
    cgroup_path: Any = None
    cgroup: dict[str, dict[str, Any]] = {}
    oom_score_adj: Any = None
    extra: Any = None

    @property
    def manifests(self) -> dict[str, Json]:
        """The posted pods by name."""
        posted = self.pods if self.pod is None else (self.pod,)
        return {each["metadata"]["name"]: each for each in posted}

    def entries(self, pod: str) -> tuple[Entry, ...]:
        """What was seen of one pod."""
        return tuple(each for each in self.watch if each.pod in ("", pod))


def names() -> list[str]:
    """All lives."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.stem not in _NO_LIVES)


@cache
def load(name: str) -> Life:
    """A life by name."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Life)
