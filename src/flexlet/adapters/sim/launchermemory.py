"""The memory of a simulated virtual machine: a part that is always there, and virtio-mem on top, in blocks."""

from typing import Final

from flexlet.adapters.sim.launchertemper import GIVE_UP, RETRY_S, Agenda, Temper
from flexlet.core.lab.devices import Memory, VirtioMem
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import text_of
from flexlet.core.vm import plugging
from flexlet.core.vm.guest import Answer, Machine

_STEP_S: Final = 0.5
"""QEMU tells of elastic memory that changes about this often."""
_SOON_S: Final = 0.05


class SimMemory:
    """`asked` is QEMU's requested-size, `elastic` its size: the guest follows, upwards never beyond it."""

    def __init__(self, machine: Machine, temper: Temper, agenda: Agenda) -> None:
        self.base = machine.min_memory
        self.asked = machine.memory - machine.min_memory
        self.elastic = 0 if machine.incoming else self.asked
        self.answer = Answer()
        self.is_able = False
        """Whether the guest can take or give anything at present."""
        self._room = machine.max_memory - machine.min_memory
        self._block = machine.block_size
        self._temper = temper
        self._agenda = agenda
        self._goal: int | None = None
        """Bytes in all that were ordered, None if nobody has."""
        self._patience_s = 120.0

    def want(self, memory: int, patience_s: float, now: float) -> None:
        """Bring it to this size, in bytes with the part that is always there."""
        self._goal, self._patience_s = memory, patience_s
        self.begin(now)

    def begin(self, now: float) -> None:
        """Ask anew, from whatever there is."""
        if self._goal is not None:
            self._agenda.drop("patience", "retry")
            self.answer = Answer("Changing")
            self._ask(now)

    def go_on(self, now: float) -> None:
        """Let the guest follow, as far as it can at present."""
        is_able = self.is_able and self._temper.takes_memory
        if self.elastic != self.asked and is_able and "ram" not in self._agenda:
            self._agenda.put("ram", now + _STEP_S, self._step)

    def forget(self) -> None:
        """Nobody waits for an answer any more; what was asked for stays asked for."""
        self._agenda.drop("patience", "retry", "settled")
        self._goal, self.answer = None, Answer()

    def reset(self, now: float) -> None:
        """All elastic memory is gone until the guest's driver asks for it again."""
        self._agenda.drop("ram")
        self.elastic = 0
        if self.answer.progress == "Settled" and self.elastic != self.asked:
            self.begin(now)
        self._settled(now)

    def _ask(self, now: float) -> None:
        assert self._goal is not None  # noqa: S101 whoever asks has looked
        elastic = VirtioMem(self.asked, self.elastic, self._room, self._block) if self._room else None
        wish = plugging.elastic_wish(Memory(self.base, (), elastic), self._goal)
        if self._goal == self.base + self.asked == self.base + self.elastic:
            self._agenda.put("settled", now + _SOON_S, self._settled)
        elif isinstance(wish, Refused):
            self.answer = Answer("Failed", wish.message, GIVE_UP)
        elif wish > self.asked and self._temper.ram_failures:
            self._temper.ram_failures -= 1
            self._failed("QEMU refuses qom-set: Cannot allocate memory", now)
        else:
            self.asked = wish
            self._agenda.put("patience", now + self._patience_s, self._too_long)
            self._agenda.put("settled", now + _SOON_S, self._settled)
            self.go_on(now)

    def _failed(self, message: str, now: float) -> None:
        """A launcher tries a few times by itself."""
        count = self.answer.failures + 1
        self.answer = Answer("Failed" if count >= GIVE_UP else "Changing", message, count)
        if count < GIVE_UP:
            self._agenda.put("retry", now + RETRY_S * count, self._ask)

    def _step(self, now: float) -> None:
        step = max(self._block, int(self._temper.ram_rate * _STEP_S) // self._block * self._block)
        kept = -(-self._temper.keeps // self._block) * self._block
        if self.elastic < self.asked:
            self.elastic = min(self.asked, self.elastic + step)
        else:
            self.elastic = max(self.asked, min(self.elastic, kept), self.elastic - step)
        self._settled(now)
        # The driver of a guest that cannot let go tries on by itself.
        self.go_on(now)

    def _settled(self, now: float) -> None:
        del now
        is_asked = self._goal is None or self._goal == self.base + self.asked
        if self.elastic == self.asked and is_asked and self.answer.progress != "Failed":
            self._agenda.drop("patience")
            self.answer = Answer(failures=self.answer.failures)

    def _too_long(self, now: float) -> None:
        del now
        have, goal = text_of(self.base + self.elastic), text_of(self.base + self.asked)
        text = f"{have} instead of {goal}: the guest goes on trying"
        self.answer = Answer("Partial", text, self.answer.failures)
