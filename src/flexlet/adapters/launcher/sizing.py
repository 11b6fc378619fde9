"""Keeping a machine at the size that was ordered last; vCPUs and memory go their own ways.

An order that is reached is kept: what goes later (a vCPU that was asked long ago, memory after a reset) is brought
back. What the guest gives only in part is left to it; what the hypervisor fails at is tried three times. While a
migration is under way, or nothing runs yet, everything waits.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from flexlet.adapters.launcher.board import Board, Pulse
from flexlet.adapters.launcher.memory import GuestMemory
from flexlet.adapters.launcher.vcpus import GIVE_UP, Vcpus
from flexlet.core.vm.guest import Answer, SetSize
from flexlet.errors import HypervisorError, HypervisorGone

LOOK_S: Final = 5.0
RETRY_S: Final = 1.0

Part = Literal["cpu", "ram"]
Bring = Callable[[SetSize], Awaitable[Answer]]


class Sizing:
    """Carries out SetSize."""

    def __init__(self, board: Board, pulse: Pulse, vcpus: Vcpus, memory: GuestMemory) -> None:
        self._board = board
        self._pulse = pulse
        self._vcpus = vcpus
        self._memory = memory
        self._tasks: list[asyncio.Task[None]] = []

    def want(self, order: SetSize) -> None:
        """Forget the order before, and carry out this one."""
        for task in self._tasks:
            task.cancel()
        self._board.update(order=order.id, cpu=Answer("Changing"), ram=Answer("Changing"))
        parts: tuple[tuple[Part, Bring], ...] = (("cpu", self._bring_vcpus), ("ram", self._bring_memory))
        self._tasks = [asyncio.create_task(self._keep(order, part, bring)) for part, bring in parts]

    async def close(self) -> None:
        """Leave the machine as it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _bring_vcpus(self, order: SetSize) -> Answer:
        return await self._vcpus.bring(order.vcpus, order.unplug_timeout_s)

    async def _bring_memory(self, order: SetSize) -> Answer:
        return await self._memory.bring(order.memory, order.unplug_timeout_s)

    async def _keep(self, order: SetSize, part: Part, bring: Bring) -> None:
        failures = 0
        while True:
            await self._until_it_runs()
            answer = await self._tried(order, bring, failures)
            failures = answer.failures
            self._board.update(**{part: answer})
            if answer.progress == "Changing":
                await asyncio.sleep(RETRY_S * failures)
                continue
            await self._until_it_differs(order, part, answer)

    async def _tried(self, order: SetSize, bring: Bring, failures: int) -> Answer:
        try:
            answer = await bring(order)
        except HypervisorGone as error:
            # The connection, not the machine: nothing is known to have failed.
            await self._pulse.within(RETRY_S)
            return Answer("Changing", str(error), failures)
        except HypervisorError as error:
            failures += 1
            return Answer("Failed" if failures >= GIVE_UP else "Changing", str(error), failures)
        return answer if answer.failures else msgspec.structs.replace(answer, failures=failures)

    async def _until_it_runs(self) -> None:
        while (
            self._board.report.run_state not in {"Running", "Paused"} or self._board.report.move.state == "Active"
        ):
            await self._board.changes(LOOK_S)

    async def _until_it_differs(self, order: SetSize, part: Part, answer: Answer) -> None:
        """After it was reached: until it is no more. After a part of it: until it is reached without us."""
        while True:
            await self._board.changes(LOOK_S)
            have, target = self._sizes(order, part)
            if answer.progress == "Settled" and have != target:
                self._board.update(**{part: Answer("Changing")})
                return
            if answer.progress != "Settled" and have == target:
                return
            if part == "cpu" and answer.progress == "Partial" and have < target:
                return  # one more has gone than was wanted in the end
            if part == "ram" and answer.progress == "Partial":
                self._board.update(ram=self._memory.reached(target))

    def _sizes(self, order: SetSize, part: Part) -> tuple[int, int]:
        report = self._board.report
        return (report.vcpus, self._vcpus.whole(order.vcpus)) if part == "cpu" else (report.memory, order.memory)
