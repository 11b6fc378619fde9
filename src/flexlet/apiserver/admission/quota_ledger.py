"""Charging quotas: many writes of a namespace, one update of each quota.

Writes that arrive while a namespace's quotas are being written wait in line and are charged together afterwards,
so the cost is a stored update per round and not per write. Each waiting write stands at the lock itself: whoever
gets it takes the whole line with it, and if it is cancelled the next one does.

Must stay true: a write is let through only after every quota that counts it has been stored with it. A charge
whose write then fails stays until the usage is counted anew; a quota may show too much for a moment, never too
little.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from flexlet.api.decode import from_value
from flexlet.api.pod import ResourceList
from flexlet.api.quota import ResourceQuota
from flexlet.api.status import Conflict
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.core.quota.charge import Refusal, charge
from flexlet.core.quota.claim import Claim

BUCKET = "resourcequotas"
ATTEMPTS = 4


class QuotaWriter(Protocol):
    """Stores what quotas have used."""

    async def write_status(self, quota: Object) -> None:
        """Store the quota with its new status; Conflict if its resourceVersion is not the stored one any more."""
        ...


class Entry(msgspec.Struct, eq=False, kw_only=True):
    """One write waiting for its verdict."""

    claim: Claim
    old: Claim | None = None
    dry_run: bool = False
    refusal: Refusal | None = None
    done: bool = False


class _Line:
    """The writes of one namespace; `visitors` counts those that hold on to it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[Entry] = []
        self.visitors = 0


class QuotaLedger:
    """Charges entries to the quotas of a namespace, one round at a time."""

    def __init__(self, writer: QuotaWriter) -> None:
        self._writer = writer
        self._lines: dict[str, _Line] = {}

    async def charge(self, namespace: str, entry: Entry, view: View) -> Refusal | None:
        """Charge the entry, alone or with others; why not, if it does not fit."""
        line = self._lines.setdefault(namespace, _Line())
        line.waiting.append(entry)
        line.visitors += 1
        try:
            async with line.lock:
                if not entry.done:
                    await self._round(namespace, line, view)
        finally:
            if not entry.done and entry in line.waiting:
                line.waiting.remove(entry)
            line.visitors -= 1
            if not line.visitors:
                self._lines.pop(namespace, None)
        return entry.refusal

    async def _round(self, namespace: str, line: _Line, view: View) -> None:
        entries, line.waiting = line.waiting, []
        try:
            await self._charge_all(namespace, entries, view)
        except BaseException:
            line.waiting[:0] = [entry for entry in entries if not entry.done]
            raise
        for entry in entries:
            entry.done = True

    async def _charge_all(self, namespace: str, entries: Sequence[Entry], view: View) -> None:
        """Charge, and charge once more what somebody else changed meanwhile; quotas once written are settled."""
        settled: set[str] = set()
        for attempt in range(1, ATTEMPTS + 1):
            stored = [quota for quota in view.list(BUCKET, namespace) if _name(quota) not in settled]
            try:
                await self._write(stored, _after(stored, entries), settled)
            except Conflict:
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    async def _write(
        self, stored: Sequence[Object], used: Sequence[ResourceList | None], settled: set[str]
    ) -> None:
        for quota, amounts in zip(stored, used, strict=True):
            if amounts is not None:
                texts = {name: str(amount) for name, amount in sorted(amounts.items())}
                await self._writer.write_status({**quota, "status": {**quota["status"], "used": texts}})
            settled.add(_name(quota))


def _after(stored: Sequence[Object], entries: Sequence[Entry]) -> list[ResourceList | None]:
    """The usage of each quota after all entries that fit, None where it stays; others get their refusal."""
    before = tuple(from_value(quota, ResourceQuota) for quota in stored)
    running = before
    for entry in entries:
        if entry.refusal is not None:
            continue
        outcome = charge(running, entry.claim, entry.old)
        if isinstance(outcome, Refusal):
            entry.refusal = outcome
        elif not entry.dry_run:
            running = outcome
    return [now.status.used if now is not was else None for was, now in zip(before, running, strict=True)]


def _name(quota: Object) -> str:
    return str(quota["metadata"]["name"])
