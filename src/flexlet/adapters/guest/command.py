"""One command in the guest: its process, its pipes, and how much of its output may be on the way.

Owned by the server's single thread. A command has ended when its own process has: output that is in the pipes
by then is still sent, but a child that stays in the background with a pipe open does not hold the command up.
Runs in the guest: the standard library only.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flexlet.adapters.guest import wire

NOT_FOUND: Final = 127  # what shells say
NOT_RUNNABLE: Final = 126
CLOSED: Final = -1

Send = Callable[[dict[str, Any]], None]
Watch = Callable[[int, int, Callable[[], None] | None], None]  # descriptor, epoll mask, what to call; None: stop


class Command:
    """A running command; `ended` is called once, after its exit was sent."""

    def __init__(self, number: int, send: Send, watch: Watch, ended: Callable[[int], None]) -> None:
        self._number = number
        self._send = send
        self._watch = watch
        self._ended = ended
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd = CLOSED
        self._input = CLOSED
        self._input_ends = False
        self._pending = b""
        self._outputs: dict[int, str] = {}
        self._untaken = 0

    def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, tty: Sequence[int] | None) -> None:
        """Run it; a command that cannot be started says so as a shell would."""
        spawn = self._spawn if tty is None else self._spawn_in_terminal
        try:
            self._process = spawn(argv, {**os.environ, **env}, cwd or "/")
        except (OSError, ValueError) as error:
            self._close()
            self._say(err=wire.pack(f"{' '.join(argv[:1])}: {error}\n".encode()))
            self._say(exit=NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)
            self._ended(self._number)
            return
        if tty:
            self.resize(tty)
        for descriptor in (self._input, *self._outputs):
            os.set_blocking(descriptor, False)
        self._pidfd = os.pidfd_open(self._process.pid)
        self._watch(self._pidfd, select.EPOLLIN, self._exited)
        self._listen()

    def _spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> "subprocess.Popen[bytes]":
        stdin, self._input = os.pipe()
        ours, stdout = os.pipe()
        also_ours, stderr = os.pipe()
        self._outputs = {ours: "out", also_ours: "err"}
        try:
            return subprocess.Popen(  # noqa: S603 running what the host says is what this is for
                argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        finally:
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)

    def _spawn_in_terminal(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str
    ) -> "subprocess.Popen[bytes]":
        ours, terminal = os.openpty()
        self._input, self._outputs = os.dup(ours), {ours: "out"}
        # setsid -c makes the terminal the controlling one, so that Ctrl-C reaches the command. A server that a
        # shell started in the background ignores SIGINT, which the command would inherit: env undoes that.
        line = ["env", "--default-signal=INT,QUIT", "setsid", "-c", *argv]
        try:
            return subprocess.Popen(line, env=env, cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal)  # noqa: S603
        finally:
            os.close(terminal)

    def resize(self, tty: Sequence[int]) -> None:
        """Tell the terminal how big its window is."""
        with contextlib.suppress(OSError, struct.error, ValueError):
            rows, columns = tty
            fcntl.ioctl(self._input, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def feed(self, data: bytes) -> None:
        """More input for the command."""
        self._pending += data
        self._write()

    def finish_input(self) -> None:
        """There is no more input."""
        self._input_ends = True
        self._write()

    def taken(self, count: int) -> None:
        """The host has taken that much output: there is room for more."""
        self._untaken -= count
        if self._is_over():
            self._finish()
        self._listen()

    def kill(self, number: int) -> None:
        """Send a signal to the command and all it has started."""
        if self._process and not self._is_over():
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, number)

    def abandon(self) -> None:
        """Nobody is interested any more: end it and say nothing."""
        self.kill(signal.SIGKILL)
        if self._process:
            self._process.wait()
        self._close()

    def _write(self) -> None:
        if self._input == CLOSED:
            self._took(len(self._pending))
            return
        try:
            self._took(os.write(self._input, self._pending) if self._pending else 0)
        except BlockingIOError:
            pass
        except OSError:  # the command reads no more; its input goes nowhere, as with a closed pipe
            self._close_input()
            self._took(len(self._pending))
            return
        if self._pending:
            self._watch(self._input, select.EPOLLOUT, self._write)
        elif self._input_ends:
            self._close_input()
        else:
            self._watch(self._input, 0, None)

    def _took(self, count: int) -> None:
        self._pending = self._pending[count:]
        if count:
            self._say(took=count)

    def _listen(self) -> None:
        """Read outputs while the host takes them."""
        for descriptor in self._outputs:
            if self._untaken < wire.WINDOW:
                self._watch(descriptor, select.EPOLLIN, partial(self._read, descriptor))
            else:
                self._watch(descriptor, 0, None)

    def _read(self, descriptor: int) -> None:
        """Send what there is, as far as the window goes."""
        while descriptor in self._outputs and self._untaken < wire.WINDOW:
            try:
                data = os.read(descriptor, wire.CHUNK)
            except BlockingIOError:
                return
            except OSError:  # a terminal whose last user has gone
                data = b""
            if data:
                self._untaken += len(data)
                self._say(**{self._outputs[descriptor]: wire.pack(data)})
            else:
                self._close_output(descriptor)
        self._listen()

    def _is_over(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    def _exited(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._watch(self._pidfd, 0, None)
            self._finish()

    def _finish(self) -> None:
        """Its process is gone: send what is left, as fast as it is taken, then the exit."""
        for descriptor in list(self._outputs):
            self._read(descriptor)
        if self._process is None or (self._outputs and self._untaken >= wire.WINDOW) or self._pidfd == CLOSED:
            return
        self._close()
        code = self._process.returncode
        self._say(exit=code if code >= 0 else 128 - code)
        self._ended(self._number)

    def _close(self) -> None:
        self._close_input()
        for descriptor in list(self._outputs):
            self._close_output(descriptor)
        if self._pidfd != CLOSED:
            self._watch(self._pidfd, 0, None)
            os.close(self._pidfd)
            self._pidfd = CLOSED

    def _close_input(self) -> None:
        if self._input != CLOSED:
            self._watch(self._input, 0, None)
            os.close(self._input)
            self._input = CLOSED

    def _close_output(self, descriptor: int) -> None:
        self._watch(descriptor, 0, None)
        del self._outputs[descriptor]
        os.close(descriptor)

    def _say(self, **fields: Any) -> None:
        self._send({"id": self._number, **fields})
