"""What is recorded is on disk, or it is not recorded."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pods import resources

from flexlet.api.units import PodUid
from flexlet.core.agent.world import Remembered
from flexlet.core.resize import checkpoint
from flexlet.core.resize.allocation import Allocation
from flexlet.engine.agent.ledger import ALLOCATED, Book, Ledger
from flexlet.engine.agent.replaced import REPLACED, Replaced
from flexlet.errors import HostError
from flexlet.testing.memory import MemoryCheckpoints

A, B = PodUid("a"), PodUid("b")
UIDS = st.sampled_from([PodUid(name) for name in "abcd"])
SIZES = st.integers(1, 5)


def sized(amount: int) -> Allocation:
    return Allocation({"c": resources(f"{amount},{amount}Gi")})


class Disk(MemoryCheckpoints):
    """Fails when told; a failing write may still take its time."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[bool] = []
        self.saves = 0
        self.gate: asyncio.Event | None = None
        self.began = asyncio.Event()

    async def save(self, name: str, data: bytes) -> None:
        self.saves += 1
        self.began.set()
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.failures and self.failures.pop(0):
            raise HostError("disk full")
        await super().save(name, data)

    @property
    def entries(self) -> dict[PodUid, Allocation]:
        raw = self.files.get(ALLOCATED)
        return {} if raw is None else dict(checkpoint.parse(raw))


async def test_a_change_is_on_disk_when_the_call_returns_and_another_agent_finds_it() -> None:
    disk = Disk()
    book = Book(disk, ALLOCATED)
    await book.open()
    await book.put(A, sized(1))
    assert (disk.entries, book.get(A), book.uids()) == ({A: sized(1)}, sized(1), (A,))
    other = Book(disk, ALLOCATED)
    await other.open()
    assert other.get(A) == sized(1)
    known = other.get(A)
    assert known is not None
    await other.put(A, known)
    assert disk.saves == 1


async def test_the_bytes_are_those_of_a_document_made_at_once() -> None:
    disk = Disk()
    book = Book(disk, ALLOCATED)
    for number, uid in enumerate("qaZ"):
        await book.put(PodUid(uid), sized(number + 1))
        await book.put(PodUid("q"), sized(9))
    whole = {PodUid(uid): sized(number + 1) for number, uid in enumerate("qaZ")} | {PodUid("q"): sized(9)}
    assert disk.files[ALLOCATED] == checkpoint.encode(checkpoint.document(whole))
    for number in range(40):
        await book.put(A, sized(number + 1))
        whole[A] = sized(number + 1)
        # Texts that were hashed often enough are hashed another way by now.
        assert disk.files[ALLOCATED] == checkpoint.encode(checkpoint.document(whole))
    written = json.loads(disk.files[ALLOCATED])
    assert written["checksum"] == checkpoint.checksum(written["data"])


async def test_changes_that_arrive_during_a_write_share_the_next_one() -> None:
    disk = Disk()
    disk.gate = asyncio.Event()
    book = Book(disk, ALLOCATED)
    puts = [asyncio.ensure_future(book.put(PodUid(str(number)), sized(number + 1))) for number in range(20)]
    await disk.began.wait()
    disk.gate.set()
    await asyncio.gather(*puts)
    assert (disk.saves <= 2, len(disk.entries)) == (True, 20)


async def test_a_failed_write_goes_back_to_what_the_disk_has_even_if_the_one_before_failed_too() -> None:
    disk = Disk()
    book = Book(disk, ALLOCATED)
    await book.put(A, sized(1))
    disk.failures = [True, True]
    results = await asyncio.gather(book.put(A, sized(2)), book.put(A, sized(3)), return_exceptions=True)
    assert [str(each) for each in results] == ["disk full", "disk full"]
    assert (book.get(A), disk.entries) == (sized(1), {A: sized(1)})


async def test_one_callers_failure_does_not_take_away_anothers_change() -> None:
    disk = Disk()
    book = Book(disk, ALLOCATED)
    disk.failures = [True]
    results = await asyncio.gather(book.put(A, sized(1)), book.put(B, sized(2)), return_exceptions=True)
    assert (isinstance(results[0], HostError), results[1]) == (True, None)
    assert (book.get(A), book.get(B), disk.entries) == (None, sized(2), {B: sized(2)})


async def test_forgotten_pods_leave_the_disk_with_the_next_write() -> None:
    disk = Disk()
    ledger = Ledger(disk)
    await ledger.open()
    await ledger.allocated.put(A, sized(1))
    ledger.forget(A, B)
    assert (ledger.allocated.get(A), disk.entries) == (None, {A: sized(1)})
    await ledger.allocated.put(B, sized(2))
    assert disk.entries == {B: sized(2)}
    ledger.forget(B)
    await ledger.allocated.put(B, sized(3))
    assert disk.entries == {B: sized(3)}


@given(st.lists(st.tuples(UIDS, SIZES, st.booleans(), st.booleans()), max_size=12))
@settings(max_examples=30)
def test_memory_and_disk_agree_whatever_fails(steps: list[tuple[PodUid, int, bool, bool]]) -> None:
    """After every put that has ended, alone or beside others, memory is what the disk holds."""

    async def story() -> None:
        disk = Disk()
        book = Book(disk, ALLOCATED)
        waiting: list[asyncio.Future[None]] = []
        for uid, size, fails, at_once in steps:
            disk.failures.append(fails)
            waiting.append(asyncio.ensure_future(book.put(uid, sized(size))))
            if at_once:
                continue
            await asyncio.gather(*waiting, return_exceptions=True)
            assert {uid: book.get(uid) for uid in book.uids()} == disk.entries
        await asyncio.gather(*waiting, return_exceptions=True)
        assert {uid: book.get(uid) for uid in book.uids()} == disk.entries

    asyncio.run(story())


@pytest.mark.parametrize("noise", [b"", b"{", b'{"data":"{}","checksum":1}', b"\xff\x00" * 40])
async def test_a_corrupt_record_is_set_aside_and_the_other_one_counts(noise: bytes) -> None:
    disk = Disk()
    before = Ledger(disk)
    await before.allocated.put(A, sized(1))
    await before.actuated.put(A, sized(1))
    disk.files[ALLOCATED] = noise
    after = Ledger(disk)
    await after.open()
    assert after.remembered() == {A: Remembered(sized(1), sized(1), frozenset())}
    assert (ALLOCATED in disk.files, disk.files[f"{ALLOCATED}.bad"]) == (False, noise)
    await after.allocated.put(B, sized(2))
    assert disk.entries == {A: sized(1), B: sized(2)}


async def test_files_that_cannot_even_be_read_do_not_keep_the_agent_from_starting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unreadable(Disk):
        async def load(self, name: str) -> bytes | None:
            raise HostError(f"cannot read {name}: Input/output error")

        async def set_aside(self, name: str) -> str:
            raise HostError(f"cannot rename {name}: Read-only file system")

    ledger = Ledger(Unreadable())
    await ledger.open()
    assert ledger.remembered() == {}
    assert caplog.messages[0] == (
        "ignoring the corrupt checkpoint /var/lib/kubelet/allocated_pods_state: cannot read allocated_pods_state: "
        "Input/output error; cannot rename allocated_pods_state: Read-only file system"
    )


async def test_containers_replaced_at_the_same_moment_are_all_written_down() -> None:
    disk = Disk()
    replaced = Replaced(disk)
    await asyncio.gather(*(replaced.add(PodUid(str(number)), f"run-{number}", ()) for number in range(20)))
    again = Replaced(disk)
    await again.open()
    assert [again.get(PodUid(str(number))) for number in range(20)] == [
        frozenset({f"run-{number}"}) for number in range(20)
    ]


async def test_a_replaced_run_whose_write_failed_is_written_by_the_next_attempt() -> None:
    disk = Disk()
    replaced = Replaced(disk)
    await replaced.add(A, "first", ())
    disk.failures = [True]
    with pytest.raises(HostError):
        await replaced.add(A, "second", ("first",))
    assert replaced.get(A) == {"first"}
    await replaced.add(A, "second", ("first",))
    again = Replaced(disk)
    await again.open()
    assert again.get(A) == {"first", "second"}


async def test_a_file_of_replaced_runs_from_before_it_had_a_checksum_is_read() -> None:
    disk = Disk()
    disk.files[REPLACED] = b'{"a":["run"]}'
    replaced = Replaced(disk)
    await replaced.open()
    assert replaced.get(A) == {"run"}


@pytest.mark.parametrize("noise", [b"", b'{"runs":{"a":["run"]},"checksum":1}', b'{"a":"run"}', b"[]"])
async def test_a_corrupt_file_of_replaced_runs_is_set_aside(noise: bytes) -> None:
    disk = Disk()
    disk.files[REPLACED] = noise
    replaced = Replaced(disk)
    await replaced.open()
    assert (replaced.get(A), disk.files) == (frozenset(), {f"{REPLACED}.bad": noise})
