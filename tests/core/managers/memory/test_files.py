"""``memory_manager_state`` as kubelets write it; checksums were made by Kubernetes 1.36.3's own code."""

import json

import pytest
from tests.core.managers.numa import Gi

from flexlet.core.managers.memory import dump, files
from flexlet.core.managers.memory.files import MemoryFile, SpoiledMemory
from flexlet.core.managers.state import Block, MemoryState, MemoryTable, NumaState

EMPTY = MemoryState(policy="None")
ONE_POD = MemoryState(
    policy="Static",
    nodes={
        0: NumaState(
            assignments=1,
            tables={
                "memory": MemoryTable(
                    total=8 * Gi, system_reserved=Gi, allocatable=7 * Gi, reserved=Gi, free=6 * Gi
                ),
                "hugepages-2Mi": MemoryTable(),
            },
            cells=(0,),
        )
    },
    entries={"pod-a": {"c1": (Block(nodes=(0,), type="memory", size=Gi),)}},
)
MANY_NODES = MemoryState(policy="Static", nodes={node: NumaState(cells=(node,)) for node in range(11)})
WITH_POD_ENTRIES = MemoryState(
    policy="Static", pod_entries={"pod-b": (Block(nodes=(0, 1), type="memory", size=Gi),)}
)
STATES = [EMPTY, ONE_POD, MANY_NODES]


@pytest.mark.parametrize(
    ("state", "version", "checksum"), [(EMPTY, 1, 4236770233), (EMPTY, 2, 512582496), (ONE_POD, 1, 4177454331)]
)
def test_checksums_are_the_kubelet_s(state: MemoryState, version: int, checksum: int) -> None:
    assert dump.checksum(state, version=version) == checksum
    assert json.loads(files.write(state, version))["checksum"] == checksum


def test_the_text_is_the_kubelet_s() -> None:
    assert files.write(EMPTY, 1) == '{"policyName":"None","machineState":{},"checksum":4236770233}'
    assert files.write(ONE_POD, 1) == (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepages-2Mi":{"total":0'
        ',"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":8589934592,"systemReserved":'
        '1073741824,"allocatable":7516192768,"reserved":1073741824,"free":6442450944}},"cells":[0]}},"entries":'
        '{"pod-a":{"c1":[{"numaAffinity":[0],"type":"memory","size":1073741824}]}},"checksum":4177454331}'
    )


def test_the_newest_version_mirrors_the_first_and_says_all_again_as_text() -> None:
    document = json.loads(files.write(ONE_POD, 3))
    mirrored = json.loads(files.write(ONE_POD, 1))
    assert {key: document[key] for key in mirrored} == mirrored
    assert json.loads(document["data"]) == {key: mirrored[key] for key in mirrored if key != "checksum"}
    assert document["dataChecksum"] == files.data_checksum(document["data"])


def test_go_sorts_numbers_as_texts_in_json() -> None:
    nodes = list(json.loads(files.write(MANY_NODES, 1))["machineState"])
    assert nodes == ["0", "1", "10", *map(str, range(2, 10))]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("state", STATES)
def test_what_is_written_is_read_in_its_version(state: MemoryState, version: int) -> None:
    assert files.read(files.write(state, version)) == MemoryFile(version, state)


@pytest.mark.parametrize("version", [2, 3])
def test_memory_of_whole_pods_is_kept(version: int) -> None:
    """Flexlet gives none, but a kubelet with an alpha gate may have."""
    assert files.read(files.write(WITH_POD_ENTRIES, version)) == MemoryFile(version, WITH_POD_ENTRIES)


def test_a_file_without_checksum_and_one_under_the_other_name_are_believed() -> None:
    document = json.loads(files.write(ONE_POD, 1))
    other = dump.checksum(ONE_POD, version=1, name=dump.OLD_NAME)
    for checksum in (0, other):
        assert files.read(json.dumps(document | {"checksum": checksum})) == MemoryFile(1, ONE_POD)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cannot be read: Input data was truncated - at `$`"),
        ('{"policyName":3}', "cannot be read: Expected `str`, got `int` - at `$.policyName`"),
        (
            files.write(ONE_POD, 1).replace('"free":6442450944', '"free":1'),
            "checkpoint is corrupted: its checksum is 4177454331 and should be 2739392872",
        ),
        (
            '{"policyName":"None","machineState":{},"checksum":4236770233,"data":"{}","dataChecksum":1}',
            "checkpoint is corrupted: the checksum of its data is 1 and should be 694314937",
        ),
    ],
)
def test_a_file_that_cannot_be_believed_says_why(text: str, why: str) -> None:
    assert files.read(text) == SpoiledMemory(why)
