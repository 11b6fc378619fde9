import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.cpu.grounds import cpus

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu.dump import checksum_by_id
from flexlet.core.managers.cpu.files import CpuFile, Spoiled, policy_mismatch, read, write
from flexlet.core.managers.state import CpuState, Sets

ROWS = yaml.safe_load((Path(__file__).parent / "checksums.yaml").read_text())
SETS = st.sets(st.integers(0, 200)).map(CpuSet.of)
NAMES = st.text("abcdefgh-0123", min_size=1, max_size=8)
BOOKS = st.dictionaries(NAMES, st.dictionaries(NAMES, SETS, min_size=1, max_size=3), max_size=3)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["version"]))
def test_files_are_read_and_written_byte_for_byte(row: dict[str, Any]) -> None:
    state = _state(**row["state"])
    assert read(row["text"]) == CpuFile(row["version"], state)
    assert write(state, row["version"]) == row["text"]


@given(SETS, BOOKS, BOOKS, st.dictionaries(NAMES, SETS, max_size=2))
def test_nothing_is_lost(shared: CpuSet, entries: Sets, baselines: Sets, pods: dict[str, CpuSet]) -> None:
    """Version 4 holds everything, version 3 all but baselines, version 2 only containers."""
    base = CpuState(policy="static", shared=shared, entries=entries)
    three = CpuState(policy="static", shared=shared, entries=entries, pod_entries=pods)
    four = CpuState(policy="static", shared=shared, entries=entries, pod_entries=pods, baselines=baselines)
    assert [read(write(four, version)) for version in (2, 3, 4)] == [
        CpuFile(2, base),
        CpuFile(3, three),
        CpuFile(4, four),
    ]


def test_the_first_version_knows_container_ids() -> None:
    """Who does not run any more holds nothing; the next write is of version 2."""
    entries = {"id-1": "2-3", "id-2": "4"}
    fields = {"policyName": "static", "defaultCpuSet": "0-1,5-7", "entries": entries}
    text = json.dumps(fields | {"checksum": checksum_by_id("static", "0-1,5-7", entries)})
    state = _state("static", "0-1,5-7", {"pod-a": {"c1": "2-3"}})
    assert read(text, {"id-1": ("pod-a", "c1")}) == CpuFile(1, state)
    assert write(state, 1) == write(state, 2)
    assert isinstance(read(json.dumps(fields | {"checksum": 1})), Spoiled)


def test_no_checksum_is_that_of_an_old_writer() -> None:
    text = '{"policyName":"static","defaultCpuSet":"0-3"}'
    assert read(text) == CpuFile(2, _state("static", "0-3"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it cannot be read: Input data was truncated"),
        ("[]", "it cannot be read: Expected `object`, got `array`"),
        (
            '{"policyName":"static","defaultCpuSet":"0-3","checksum":7}',
            "checkpoint is corrupted: its checksum is 7, but its content makes 611748604",
        ),
        (
            '{"policyName":"static","defaultCpuSet":"0-3","checksum":7,"data":"{}","dataChecksum":8}',
            "checkpoint is corrupted: its dataChecksum is 8, but its content makes 694314937",
        ),
        (
            '{"policyName":"static","defaultCpuSet":"0-x","checksum":0}',
            "it cannot be read: cannot read '0-x' in CPU list '0-x': expected N or N-M",
        ),
        (
            '{"policyName":"static","defaultCpuSet":"0","entries":{"p":{"c":5}},"checksum":0}',
            "it cannot be read: Expected `str`, got `int` - at `$[...][...]`",
        ),
    ],
)
def test_a_spoiled_file_says_why(text: str, why: str) -> None:
    assert read(text) == Spoiled(why)


def test_another_policy_has_upstreams_words() -> None:
    state = CpuState(policy="none")
    words = 'configured policy "static" differs from state checkpoint policy "none"'
    assert (policy_mismatch(state, "static"), policy_mismatch(state, "none")) == (words, None)


def _state(
    policy: str,
    shared: str,
    entries: dict[str, dict[str, str]] | None = None,
    pod_entries: dict[str, str] | None = None,
) -> CpuState:
    sets = {uid: {name: cpus(text) for name, text in own.items()} for uid, own in (entries or {}).items()}
    pods = {uid: cpus(text) for uid, text in (pod_entries or {}).items()}
    return CpuState(policy=policy, shared=cpus(shared), entries=sets, pod_entries=pods)
