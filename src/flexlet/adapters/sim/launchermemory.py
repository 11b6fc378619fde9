"""The memory of a simulated virtual machine: a part that is always there, and virtio-mem on top, in blocks."""

from typing import Final

from flexlet.adapters.sim.launchertemper import Agenda, Temper
from flexlet.core.vm.guest import Answer, Machine

_STEP_S: Final = 0.5
"""QEMU tells of elastic memory that changes about this often."""


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
        self._patience_s = 120.0

    def want(self, memory: int, patience_s: float, now: float) -> None:
        """Bring it to this size, in bytes with the part that is always there."""
        asked, self._patience_s = memory - self.base, patience_s
        refusal = self._refusal(asked)
        if refusal:
            self.answer = Answer("Failed", refusal, self.answer.failures + 1)
            return
        self.asked = asked
        self.begin(now)

    def begin(self, now: float) -> None:
        """Let the guest follow, from whatever it has."""
        self._agenda.drop("patience")
        is_there = self.elastic == self.asked
        self.answer = Answer("Settled" if is_there else "Changing", failures=self.answer.failures)
        if self.elastic > self.asked:
            self._agenda.put("patience", now + self._patience_s, self._too_long)
        self.go_on(now)

    def go_on(self, now: float) -> None:
        """Take up what could not be done meanwhile."""
        is_able = self.is_able and self._temper.takes_memory
        if self.elastic != self.asked and is_able and "ram" not in self._agenda:
            self._agenda.put("ram", now + _STEP_S, self._step)

    def forget(self) -> None:
        """Nobody waits for an answer any more; what was asked for stays asked for."""
        self._agenda.drop("patience")
        self.answer = Answer()

    def reset(self) -> None:
        """All elastic memory is gone until the guest's driver asks for it again."""
        self._agenda.drop("ram", "patience")
        self.elastic = 0

    def _refusal(self, asked: int) -> str:
        if asked < 0:
            return f"the machine always has {self.base} bytes"
        if asked % self._block:
            return "QEMU refuses qom-set: 'requested-size' has to be multiples of 'block-size'"
        if asked > self._room:
            return "QEMU refuses qom-set: 'requested-size' cannot exceed the memory backend size"
        if asked > self.asked and self._temper.ram_failures:
            self._temper.ram_failures -= 1
            return "QEMU refuses qom-set: Cannot allocate memory"
        return ""

    def _step(self, now: float) -> None:
        step = max(self._block, int(self._temper.ram_rate * _STEP_S) // self._block * self._block)
        kept = -(-self._temper.keeps // self._block) * self._block
        if self.elastic < self.asked:
            self.elastic = min(self.asked, self.elastic + step)
        else:
            self.elastic = max(self.asked, min(self.elastic, kept), self.elastic - step)
        if self.elastic == self.asked:
            self._agenda.drop("patience")
            self.answer = Answer("Settled", failures=self.answer.failures)
        self.go_on(now)

    def _too_long(self, now: float) -> None:
        """The driver of a guest that cannot let go tries on by itself."""
        del now
        left = self.elastic - self.asked
        self.answer = Answer("Partial", f"the guest keeps {left} bytes that it cannot move", self.answer.failures)
