"""The vCPUs of a simulated virtual machine: slots, of which the first never goes."""

from flexlet.adapters.sim.launchertemper import Agenda, Temper
from flexlet.core.vm.guest import Answer, Machine


class SimCpus:
    """Plugs the lowest free slot, unplugs the highest first, and tries another one if the guest keeps that."""

    def __init__(self, machine: Machine, temper: Temper, agenda: Agenda) -> None:
        each = machine.cores * machine.threads
        self.top = machine.max_sockets * each
        self.slots = set(range(machine.sockets * each))
        self.online = set(self.slots)
        self.goal = len(self.slots)
        self.answer = Answer()
        self.is_able = False
        """Whether anything can be plugged at present."""
        self._temper = temper
        self._agenda = agenda
        self._asked: set[int] = set()
        self._why: list[str] = []
        self._patience_s = 120.0

    def want(self, count: int, patience_s: float, now: float) -> None:
        """Bring them to this number."""
        self.goal, self._patience_s = count, patience_s
        self.begin(now)

    def begin(self, now: float) -> None:
        """Ask the guest anew, from whatever there is."""
        self._agenda.drop("cpu", "silence")
        self._asked, self._why = set(), []
        self.answer = Answer("Changing", failures=self.answer.failures)
        self._settle_or(now)

    def go_on(self, now: float) -> None:
        """Take up what could not be done meanwhile."""
        if self.answer.progress == "Changing":
            self._settle_or(now)

    def forget(self) -> None:
        """Nothing was ever asked for."""
        self._agenda.drop("cpu", "silence")
        self.goal, self.answer = len(self.slots), Answer()

    def reset(self) -> None:
        """A guest that starts anew uses all, and no longer has what it was asked for without an answer."""
        for slot in self._asked & self.slots & self._temper.silent:
            self.slots.discard(slot)
        self.online = set(self.slots)

    def _settle_or(self, now: float) -> None:
        if len(self.slots) == self.goal:
            self.answer = Answer("Settled", failures=self.answer.failures)
        elif self.answer.progress == "Changing" and self.is_able and "silence" not in self._agenda:
            self._agenda.put("cpu", now + self._temper.cpu_s, self._step)

    def _step(self, now: float) -> None:
        if len(self.slots) < self.goal:
            self._plug()
        else:
            self._unplug(now)
        self._settle_or(now)

    def _plug(self) -> None:
        free = next((slot for slot in range(self.top) if slot not in self.slots), None)
        if free is None:
            self._failed(f"no free slot: all {self.top} vCPUs of the machine are in use")
        elif self._temper.cpu_failures:
            self._temper.cpu_failures -= 1
            self._failed(f"QEMU refuses device_add: cannot plug vcpu-{free}-0-0")
        else:
            self.slots.add(free)
            if self._temper.onlines:
                self.online.add(free)

    def _failed(self, message: str) -> None:
        self.answer = Answer("Failed", message, self.answer.failures + 1)

    def _unplug(self, now: float) -> None:
        slot = max(self.slots - self._asked - {0}, default=None)
        if slot is None:
            why = "; ".join(self._why) or "Boot CPU is unpluggable"
            self.answer = Answer("Partial", why, self.answer.failures)
            return
        self._asked.add(slot)
        if slot in self._temper.silent:
            self._why.append(f"the guest has not let vcpu-{slot}-0-0 go within {self._patience_s:g} s")
            self._agenda.put("silence", now + self._patience_s, self.go_on)
        elif slot in self._temper.pinned:
            self._why.append(f"the guest keeps vcpu-{slot}-0-0: the device is busy (ACPI status 130)")
        else:
            self.slots.discard(slot)
            self.online.discard(slot)
