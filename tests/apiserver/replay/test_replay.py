"""The transcripts of a real kube-apiserver, replayed line by line against ours over HTTPS."""

from pathlib import Path

import pytest
from tests.apiserver.replay import known, transcript
from tests.apiserver.replay.comparison import Difference
from tests.apiserver.replay.replay import replay

SHOWN_LINES = 6
SHOWN_DIFFERENCES = 6


@pytest.mark.parametrize("name", transcript.FILES)
async def test_the_server_answers_as_recorded(name: str, tmp_path: Path) -> None:
    """Same status, same headers, same body but for placeholders; the list of known differences is exact."""
    unexpected, idle = known.settle(name, await replay(name, tmp_path))
    assert not unexpected, _report(name, unexpected)
    assert not idle, f"{name}: agrees now, take it off the list of known differences: {idle}"


def test_known_differences_name_lines_that_exist() -> None:
    recorded = {(name, line.seq) for name in transcript.FILES for line in transcript.lines(name)}
    listed = {(file, line) for entry in known.entries() for file in entry.where for line in entry.lines(file)}
    assert listed <= recorded


def _report(name: str, unexpected: dict[int, list[Difference]]) -> str:
    recorded = {line.seq: line for line in transcript.lines(name)}
    parts = [f"{name}: {len(unexpected)} lines differ: {sorted(unexpected)}"]
    for seq, problems in list(unexpected.items())[:SHOWN_LINES]:
        line = recorded[seq]
        parts.append(f"\n{name}:{seq} {line.method} {line.path} ({line.client})")
        parts += [f"  {problem}" for problem in problems[:SHOWN_DIFFERENCES]]
    return "\n".join(parts)
