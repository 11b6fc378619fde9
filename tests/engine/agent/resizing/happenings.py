"""What may happen to a node whose machine changes under its pods, besides what may happen to any."""

from typing import Final

import msgspec
from hypothesis import strategies as st
from tests.engine.agent.happenings import Refuse, Wait, refusing, waiting
from tests.engine.agent.resizing import rig

from flexlet.core.hotplug import saved
from flexlet.core.managers.files import CPU_FILE
from flexlet.engine.agent.ledger import ALLOCATED

_METHODS: Final = ("write", "write", "update_container", "start_container", "stop_container")
_FILES: Final = (saved.FILE, CPU_FILE, ALLOCATED)


class Create(msgspec.Struct, frozen=True, tag=True):
    """A pod is posted."""

    kind: str
    size: int
    priority: int


class Resize(msgspec.Struct, frozen=True, tag=True):
    """One of them asks for another size."""

    which: int
    size: int


class Delete(msgspec.Struct, frozen=True, tag=True):
    """One of them is deleted."""

    which: int


class Use(msgspec.Struct, frozen=True, tag=True):
    """One of them uses this part of what it requested."""

    which: int
    percent: int


class Cpus(msgspec.Struct, frozen=True, tag=True):
    """These CPUs are there, and CPU 0."""

    ids: frozenset[int]


class Flip(msgspec.Struct, frozen=True, tag=True):
    """These CPUs come if they are not there, and go if they are."""

    ids: frozenset[int]


class Memory(msgspec.Struct, frozen=True, tag=True):
    """There are so many blocks of half a gibibyte; `silent` as a balloon of the hypervisor does it."""

    halves: int
    silent: bool


class Swap(msgspec.Struct, frozen=True, tag=True):
    """There is so much swap."""

    gib: int


class HugePages(msgspec.Struct, frozen=True, tag=True):
    """There are so many pages of 2Mi."""

    count: int


class Die(msgspec.Struct, frozen=True, tag=True):
    """The agent dies after so many more deeds, or now; the next one comes a while later."""

    deeds: int
    away_s: float


class NoSpace(msgspec.Struct, frozen=True, tag=True):
    """A file cannot be written, so many times."""

    file: str
    times: int


class Away(msgspec.Struct, frozen=True, tag=True):
    """The API is out of reach, or back."""

    is_away: bool


Happening = (
    Create | Resize | Delete | Use | Cpus | Flip | Memory | Swap | HugePages | Die | Refuse | NoSpace | Away | Wait
)
_whiches: Final = st.integers(0, 9)
_plugs: Final[tuple[st.SearchStrategy[Happening], ...]] = (
    st.builds(Cpus, st.frozensets(st.integers(1, 9), min_size=1, max_size=9)),
    st.builds(Flip, st.frozensets(st.integers(1, 9), min_size=1, max_size=3)),
    st.builds(Flip, st.frozensets(st.integers(1, 9), min_size=1, max_size=3)),
    st.builds(Memory, st.integers(3, 24), st.booleans()),
)
_kinds: Final = st.sampled_from(
    ("guaranteed", "guaranteed", "burstable", "burstable", "nothing", "balloon", "static")
)
_creates: Final = st.builds(Create, _kinds, st.integers(0, 3), st.sampled_from((0, 0, 5, 2_000_000_000)))
happenings: Final[st.SearchStrategy[Happening]] = st.one_of(
    _creates,
    _creates,
    st.builds(Resize, _whiches, st.integers(0, 3)),
    st.builds(Delete, _whiches),
    st.builds(Use, _whiches, st.integers(0, 90)),
    *_plugs,
    *_plugs,
    st.builds(Swap, st.integers(0, 8)),
    st.builds(HugePages, st.sampled_from((0, 0, 64, 512))),
    st.builds(Die, st.integers(0, 14), st.sampled_from((0.0, 1.0, 30.0))),
    refusing(_METHODS, 4),
    st.builds(NoSpace, st.sampled_from(_FILES), st.integers(1, 3)),
    st.builds(Away, st.booleans()),
    waiting(0.0, 0.05, 0.3, 1.0, 4.0, 20.0, 70.0),
)


@st.composite
def life_of(draw: st.DrawFn, most: int) -> list[Happening]:
    """First some pods come, then anything happens."""
    creates = draw(st.lists(_creates, min_size=2, max_size=8))
    return [*creates, Wait(2.0), *draw(st.lists(happenings, min_size=4, max_size=most))]


configs: Final = st.sampled_from((rig.CONFIG, rig.STATIC))
