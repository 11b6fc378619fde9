"""Wires a launcher: QEMU, its sockets, the pod's log, signals."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.adapters.launcher import disks, process
from flexlet.adapters.launcher.board import Board
from flexlet.adapters.launcher.launcher import Launcher
from flexlet.adapters.launcher.process import Running
from flexlet.adapters.launcher.rundir import RunDir
from flexlet.adapters.launcher.serial import SerialConsole
from flexlet.adapters.launcher.server import ControlServer, listening
from flexlet.adapters.qemu import acceleration, binary
from flexlet.adapters.qemu.binary import Qemu
from flexlet.core.lab.arguments import Accelerator
from flexlet.core.vm.ending import CLEAN, FAULT, Ending
from flexlet.core.vm.guest import Machine, Order, PowerDown, Report
from flexlet.errors import ConfigError, FlexletError

Say = Callable[[str], None]
Orders = asyncio.Queue[Order]
_STDOUT: Final = 1
_LAST_WORDS_S: Final = 2.0
_NOTHING: Final[dict[str, Any]] = {"run_state": "Ended", "vcpus": 0, "memory": 0, "requested": 0, "resident": 0}


def machine_of(text: str) -> Machine:
    """The machine in FLEXLET_VM_MACHINE."""
    if not text:
        raise ConfigError("FLEXLET_VM_MACHINE is not set: a launcher is started by the controller of FlexVMs")
    try:
        return msgspec.json.decode(text, type=Machine)
    except msgspec.DecodeError as error:
        raise ConfigError(f"cannot read FLEXLET_VM_MACHINE: {error}") from error


async def run(machine: Machine, run_dir: RunDir, say: Say, qemu: Qemu | None = None) -> int:
    """Be the launcher of a machine until it ends; the exit code."""
    run_dir.path.mkdir(parents=True, exist_ok=True)
    board, orders, console = Board(Report(run_state="Starting")), Orders(), SerialConsole(_show)
    _end_on_signals(orders)
    control = ControlServer(board, orders.put_nowait)
    async with listening(run_dir.console, console.serve), listening(run_dir.control, control.serve):
        try:
            done = await _looked_after(machine, run_dir, qemu, board, orders, console, say)
        except FlexletError as error:
            done = Ending(FAULT, str(error))
        say(done.message)
        board.update(**_NOTHING, exit_code=done.code, message=done.message)
        board.close()
        console.close()
    return done.code


async def _looked_after(
    machine: Machine,
    run_dir: RunDir,
    qemu: Qemu | None,
    board: Board,
    orders: Orders,
    console: SerialConsole,
    say: Say,
) -> Ending:
    running, accelerator = process.find(run_dir) or await _started(machine, run_dir, qemu)
    how = "started" if running.is_ours else "found"
    say(f"machine {machine.name} {how}: QEMU is process {running.pid}, {accelerator}")
    board.update(accelerator=accelerator)
    showing = asyncio.create_task(console.follow(run_dir.serial))
    try:
        done = await Launcher(machine, accelerator, run_dir, running, board, orders).run()
    except BaseException:
        running.kill()  # nobody would look after it
        await running.ended()
        raise
    finally:
        await asyncio.wait((showing,), timeout=_LAST_WORDS_S)
        showing.cancel()
    process.clear(run_dir)
    return done if done.code == CLEAN else Ending(done.code, f"{done.message}: {running.last_words()}")


async def _started(machine: Machine, run_dir: RunDir, qemu: Qemu | None) -> tuple[Running, Accelerator]:
    process.clear(run_dir)
    qemu = qemu or await binary.find()
    accelerator = await acceleration.choose(qemu, run_dir.path)
    ready = msgspec.structs.replace(machine, disks=await disks.prepared(qemu, machine.disks))
    return await process.start(qemu, ready, accelerator, run_dir), accelerator


def _end_on_signals(orders: Orders) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.put_nowait, PowerDown())


def _show(data: bytes) -> None:
    """The guest's console is the pod's log; a reader of it that has gone does not end the machine."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(_STDOUT, data) :]
