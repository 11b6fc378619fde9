"""The two files in which a node remembers its pods' resources: ``allocated_pods_state``, ``actuated_pods_state``.

Byte for byte those of the kubelet, so that a node can change hands in both directions: a JSON document that holds
another one as text, and a checksum of that text (32-bit FNV-1a over ``(string)`` and the text). Names are sorted,
empty maps are left out, unknown keys are ignored. Reading and writing files is the caller's; a missing file is an
empty state, and a document whose checksum was written last need not be written again.

Must stay true: what cannot be read is an error, never a guess. What a node does then is its ledger's decision.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import decode, gotext
from flexlet.api.pod import ResourceRequirements
from flexlet.api.units import PodUid
from flexlet.core import fnv
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resources.rounding import text_requirements
from flexlet.errors import InputError

ALLOCATED_FILE: Final = "allocated_pods_state"
ACTUATED_FILE: Final = "actuated_pods_state"

Entries = dict[PodUid, Allocation]

_SEED: Final = "(string)"
_EMPTY: Final = "{}"
_BEGIN: Final = '{"entries":{'
_END: Final = "}}"
_LEARNED_AFTER: Final = 10
"""Learning a text costs about as much as hashing it so often."""


class Document(msgspec.Struct, frozen=True):
    """What a checkpoint file holds."""

    data: str
    checksum: int


class _Entry(msgspec.Struct, frozen=True):
    ContainerResources: dict[str, ResourceRequirements] | None = None
    PodLevelResources: ResourceRequirements | None = None


class _Data(msgspec.Struct, frozen=True):
    entries: dict[str, _Entry] | None = None


def document(entries: Mapping[PodUid, Allocation]) -> Document:
    """The document that remembers these pods."""
    draft = Draft()
    for uid in draft.unknown(entries):
        draft.learn(uid, entries[uid])
    return draft.document(entries)


class _Known(msgspec.Struct):
    allocation: Allocation
    text: str
    hashed: int = 0
    """How often byte by byte."""
    effect: fnv.Piece | None = None

    def after(self, state: int) -> int:
        """The hash after the text."""
        if self.effect is not None:
            return fnv.continued(state, self.effect)
        self.hashed += 1
        return fnv.fnv1a(self.text.encode(), state)


class Draft:
    """A document that is written again and again, a few pods changed each time: only those cost much.

    What a pod's text does to the hash is learned once it has been hashed so often that learning pays; one pod with
    each document, so that none takes long.
    """

    def __init__(self) -> None:
        self._known: dict[PodUid, _Known] = {}

    def unknown(self, entries: Mapping[PodUid, Allocation]) -> list[PodUid]:
        """Pods that must be learned before `document`; those that are gone are forgotten."""
        self._known = {uid: known for uid, known in self._known.items() if uid in entries}
        known = self._known
        # Equal amounts may be written in two ways, so only the very same value is known.
        return [uid for uid, each in entries.items() if uid not in known or known[uid].allocation is not each]

    def learn(self, uid: PodUid, allocation: Allocation) -> None:
        """Take in what is to be remembered of a pod."""
        text = f"{gotext.json_text(uid)}:{gotext.json_text(_entry(allocation))}"
        self._known[uid] = _Known(allocation, text)

    def document(self, entries: Mapping[PodUid, Allocation]) -> Document:
        """The document that remembers these pods, all of them learned."""
        if not entries:
            return Document(_EMPTY, checksum(_EMPTY))
        state = fnv.fnv1a((_SEED + _BEGIN).encode())
        texts: list[str] = []
        for uid in sorted(entries):
            known = self._known[uid]
            state = known.after(fnv.fnv1a(b",", state) if texts else state)
            texts.append(known.text)
        self._learn_one()
        return Document(_BEGIN + ",".join(texts) + _END, fnv.fnv1a(_END.encode(), state))

    def _learn_one(self) -> None:
        for known in self._known.values():
            if known.effect is None and known.hashed >= _LEARNED_AFTER:
                known.effect = fnv.piece(known.text.encode())
                return


def encode(checkpoint: Document) -> bytes:
    """The bytes of the file."""
    return gotext.json_text({"data": checkpoint.data, "checksum": checkpoint.checksum}).encode()


def parse(text: bytes) -> Entries:
    """The pods of a file, or InputError."""
    found = decode.from_json(text, Document)
    if found.checksum != checksum(found.data):
        raise InputError("checkpoint is corrupted: the checksum does not match")
    entries = decode.from_json(found.data, _Data).entries or {}
    return {
        PodUid(uid): Allocation(entry.ContainerResources or {}, entry.PodLevelResources)
        for uid, entry in entries.items()
    }


def checksum(data: str) -> int:
    """FNV-1a of the text as the kubelet's printer shows it."""
    return fnv.fnv1a((_SEED + data).encode())


def _entry(allocation: Allocation) -> dict[str, Any]:
    containers = allocation.containers
    level = allocation.pod
    return {
        "ContainerResources": {name: text_requirements(containers[name]) for name in sorted(containers)},
        "PodLevelResources": None if level is None else text_requirements(level),
    }
