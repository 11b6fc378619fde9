"""Checkpoints are the kubelet's, byte for byte."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pods import resources
from tests.properties.strategies import requirements

from flexlet.api.units import PodUid
from flexlet.core.resize import checkpoint
from flexlet.core.resize.allocation import Allocation
from flexlet.errors import InputError

RECORDED = json.loads((Path(__file__).parents[2] / "data/resize/checkpoints.json").read_text())
FILES = [
    pytest.param(text, id=f"{moment}: {name}")
    for moment, files in RECORDED.items()
    for name, text in files.items()
]


@pytest.mark.parametrize("text", FILES)
def test_recorded_files_are_read_and_written_back_unchanged(text: str) -> None:
    entries = checkpoint.parse(text.encode())
    assert checkpoint.encode(checkpoint.document(entries)) == text.encode()


@pytest.mark.parametrize(
    ("entries", "data", "checksum"),
    [
        ({}, "{}", 694314937),
        (
            {"uid-2": Allocation({"c1": resources()})},
            '{"entries":{"uid-2":{"ContainerResources":{"c1":{}},"PodLevelResources":null}}}',
            354502089,
        ),
        (
            {"uid-1": Allocation({"c1": resources("100m,64Mi")}, resources("", "1"))},
            (
                '{"entries":{"uid-1":{"ContainerResources":{"c1":{"requests":{"cpu":"100m","memory":"64Mi"}}},'
                '"PodLevelResources":{"limits":{"cpu":"1"}}}}}'
            ),
            2666181543,
        ),
    ],
)
def test_documents(entries: dict[PodUid, Allocation], data: str, checksum: int) -> None:
    assert checkpoint.document(entries) == checkpoint.Document(data, checksum)


NAMES = st.text(min_size=1, max_size=4)
ALLOCATIONS = st.builds(
    Allocation, st.dictionaries(NAMES, requirements(), max_size=2), st.none() | requirements(("cpu", "memory"))
)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(NAMES.map(PodUid), ALLOCATIONS, max_size=2))
def test_everything_comes_back(entries: dict[PodUid, Allocation]) -> None:
    assert checkpoint.parse(checkpoint.encode(checkpoint.document(entries))) == entries


GOOD = checkpoint.encode(checkpoint.document({PodUid("u"): Allocation({"c": resources("1,1Gi")})}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "Input data was truncated"),
        (b"{}", "Object missing required field `data`"),
        (GOOD.replace(b"1Gi", b"2Gi"), "checkpoint is corrupted: the checksum does not match"),
        (GOOD[:-5], "Input data was truncated"),
        (
            checkpoint.encode(checkpoint.Document("[]", checkpoint.checksum("[]"))),
            "Expected `object`, got `array`",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_and_no_guess(text: bytes, why: str) -> None:
    with pytest.raises(InputError) as caught:
        checkpoint.parse(text)
    assert caught.value.message == why


def test_unknown_keys_are_ignored() -> None:
    """A newer kubelet keeps more."""
    data = '{"entries":{"u":{"ContainerResources":null,"PodLevelResources":null,"EmptyDirVolumeLimits":{}}}}'
    text = checkpoint.encode(checkpoint.Document(data, checkpoint.checksum(data)))
    assert checkpoint.parse(text) == {"u": Allocation({})}
