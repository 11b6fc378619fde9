"""``oom_score_adj`` of running processes.

A runtime sets it when a container starts and never again, so a resize that changes it writes it here, for every
process of the container's cgroup. A process that has ended meanwhile needs no score.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from flexlet.adapters.cgroupfs.faults import refused


class OomScores:
    """The scores below a /proc."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc

    async def read(self, pids: Iterable[int]) -> dict[int, int]:
        """The score of each process that is still there."""
        scores = {}
        for pid in pids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                scores[pid] = int((self._proc / str(pid) / "oom_score_adj").read_text())
        return scores

    async def write(self, pids: Iterable[int], score: int) -> None:
        """Give each process this score, from -1000 (never killed) to 1000 (first)."""
        for pid in pids:
            path = self._proc / str(pid) / "oom_score_adj"
            try:
                with path.open("r+") as file:  # never makes the file
                    file.write(str(score))
            except (FileNotFoundError, ProcessLookupError):
                continue
            except OSError as error:
                raise refused(error, f'write "{score}" to {path}') from error
