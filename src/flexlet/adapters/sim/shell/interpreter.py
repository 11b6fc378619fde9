"""Running a script's tree, step by step in simulated time.

A signal that is trapped is heard between commands and during ``wait``, not while a command is waited for, as in
any shell.
"""

from collections.abc import Callable, Generator
from typing import Any, Final

from flexlet.adapters.sim.inside import Inside
from flexlet.adapters.sim.processes import Body, Child, Effect, Process, Signal
from flexlet.adapters.sim.shell import arithmetic
from flexlet.adapters.sim.shell.commands import COMMANDS
from flexlet.adapters.sim.shell.lexer import SyntaxFault
from flexlet.adapters.sim.shell.parser import parse
from flexlet.adapters.sim.shell.streams import Streams, nowhere
from flexlet.adapters.sim.shell.syntax import (
    Chain,
    For,
    Group,
    If,
    Loop,
    Node,
    Not,
    Output,
    Pipe,
    Redirect,
    Series,
    Simple,
    Sum,
    Text,
    Variable,
    Word,
)

_SIGNALS: Final = {"HUP": 1, "INT": 2, "QUIT": 3, "TERM": 15, "USR1": 10, "USR2": 12}
_TURNS: Final = 10_000
"""How often a loop may go round without time passing."""

Words = Generator[Effect, Any, list[str]]


class Exit(Exception):
    """The script ends here."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Interpreter:
    """One shell process."""

    def __init__(self, process: Process, inside: Inside, variables: dict[str, str]) -> None:
        self._process = process
        self._inside = inside
        self._variables = variables
        self._traps: dict[int, Node] = {}
        self._jobs: list[int] = []
        self._status = 0
        self._builtins: dict[str, Callable[[list[str], Streams], Body]] = {
            ":": self._nothing,
            "exec": self._exec,
            "exit": self._exit,
            "export": self._export,
            "set": self._nothing,
            "trap": self._trap,
            "wait": self._wait,
        }

    def script(self, text: str, streams: Streams) -> Body:
        """Run a whole script; its exit code."""
        try:
            return (yield from self._run(parse(text), streams))
        except Exit as end:
            return end.code

    def _run(self, node: Node, streams: Streams) -> Body:
        match node:
            case Simple():
                self._status = yield from self._simple(node, streams)
                yield from self._hear(streams)
            case Series(items):
                for item, in_background in items:
                    yield from self._background(item, streams) if in_background else self._run(item, streams)
            case Chain(left, sign, right):
                yield from self._run(left, streams)
                if (self._status == 0) == (sign == "&&"):
                    yield from self._run(right, streams)
            case Not(inner):
                yield from self._run(inner, streams)
                self._status = int(not self._status)
            case Pipe(left, right):
                printed: list[str] = []
                yield from self._run(left, Streams(printed.append, streams.err, streams.input))
                yield from self._run(right, Streams(streams.out, streams.err, "".join(printed)))
            case Group():
                yield from self._group(node, streams)
            case If(branches, otherwise):
                yield from self._if(branches, otherwise, streams)
            case Loop():
                yield from self._loop(node, streams)
            case For(name, words, inner):
                for value in (yield from self._expand_all(words, streams)):
                    self._variables[name] = value
                    yield from self._run(inner, streams)
        return self._status

    def _group(self, node: Group, streams: Streams) -> Body:
        streams = yield from self._redirect(node.redirects, streams)
        if not node.is_subshell:
            return (yield from self._run(node.node, streams))
        inner = Interpreter(self._process, self._inside, dict(self._variables))
        try:
            self._status = yield from inner._run(node.node, streams)
        except Exit as end:
            self._status = end.code
        return self._status

    def _if(self, branches: tuple[tuple[Node, Node], ...], otherwise: Node | None, streams: Streams) -> Body:
        for condition, node in branches:
            if (yield from self._run(condition, streams)) == 0:
                return (yield from self._run(node, streams))
        self._status = 0
        return (yield from self._run(otherwise, streams)) if otherwise else 0

    def _loop(self, loop: Loop, streams: Streams) -> Body:
        turns, began = 0, self._inside.family.now()
        while ((yield from self._run(loop.condition, streams)) == 0) == (loop.kind == "while"):
            yield from self._run(loop.node, streams)
            turns, began = turns + 1 if began == self._inside.family.now() else 0, self._inside.family.now()
            if turns > _TURNS:
                raise SyntaxFault("a loop that never sleeps stops simulated time")
        self._status = 0
        return 0

    def _background(self, node: Node, streams: Streams) -> Body:
        def child(process: Process) -> Body:
            inner = Interpreter(process, self._inside, dict(self._variables))
            try:
                return (yield from inner._run(node, streams))
            except Exit as end:
                return end.code

        yield from ()
        pid = self._inside.family.spawn(child, self._process.pid)
        self._jobs.append(pid)
        self._variables["!"] = str(pid)
        self._status = 0
        return 0

    def _simple(self, node: Simple, streams: Streams) -> Body:
        for name, word in node.assignments:
            self._status = 0
            self._variables[name] = " ".join((yield from self._expand(word, streams, split=False)))
        streams = yield from self._redirect(node.redirects, streams)
        words = yield from self._expand_all(node.words, streams)
        if not words:
            return self._status if node.assignments else 0
        return (yield from self._command(words, streams))

    def _command(self, words: list[str], streams: Streams) -> Body:
        builtin = self._builtins.get(words[0])
        if builtin is not None:
            return (yield from builtin(words[1:], streams))
        if words[0] in {"sh", "/bin/sh"} and words[1:2] == ["-c"]:
            inner = Interpreter(self._process, self._inside, dict(self._variables))
            return (yield from inner.script(words[2], streams))
        command = COMMANDS.get(words[0].rpartition("/")[2])
        if command is None:
            streams.err(f"sh: {words[0]}: not found\n")
            return 127
        return (yield from command(self._process, words[1:], self._inside, streams))

    def _exit(self, args: list[str], _: Streams) -> Body:
        yield from ()
        raise Exit(int(args[0]) if args else self._status)

    def _exec(self, args: list[str], streams: Streams) -> Body:
        raise Exit((yield from self._command(args, streams)))

    def _export(self, args: list[str], _: Streams) -> Body:
        yield from ()
        for arg in args:
            name, equals, value = arg.partition("=")
            if equals:
                self._variables[name] = value
        return 0

    def _nothing(self, _: list[str], __: Streams) -> Body:
        yield from ()
        return 0

    def _trap(self, args: list[str], _: Streams) -> Body:
        yield from ()
        for name in args[1:]:
            number = _SIGNALS.get(name.removeprefix("SIG"))
            if number is None:
                continue
            self._traps.pop(number, None)
            self._process.ignored.discard(number)
            self._process.handled.discard(number)
            if not args[0]:
                self._process.ignored.add(number)
            elif args[0] != "-":
                self._traps[number] = parse(args[0])
                self._process.handled.add(number)
        return 0

    def _wait(self, args: list[str], streams: Streams) -> Body:
        """Until all jobs have ended, or those named; a signal ends the waiting."""
        status = 0
        for pid in [int(arg) for arg in args] or self._jobs:
            came = yield Child(pid, interruptible=True)
            if isinstance(came, Signal):
                yield from self._run(self._traps[came.number], streams)
                return 128 + came.number
            status = came or 0
        return status if args else 0

    def _hear(self, streams: Streams) -> Body:
        """Do what was trapped meanwhile; the status is not touched by it."""
        while self._process.pending:
            status, trap = self._status, self._traps.get(self._process.pending.pop(0))
            if trap is not None:
                yield from self._run(trap, streams)
            self._status = status
        return 0

    def _redirect(self, redirects: tuple[Redirect, ...], streams: Streams) -> Generator[Effect, Any, Streams]:
        for redirect in redirects:
            target = " ".join((yield from self._expand(redirect.target, streams, split=False)))
            streams = self._redirected(redirect, target, streams)
        return streams

    def _redirected(self, redirect: Redirect, target: str, streams: Streams) -> Streams:
        if redirect.sign == "<":
            return Streams(streams.out, streams.err, self._inside.files.read(target) or "")
        if redirect.sign == ">&":
            place = streams.out if target == "1" else streams.err
        elif target == "/dev/null":
            place = nowhere
        elif target in {"/dev/stdout", "/dev/stderr", "/proc/1/fd/1"}:
            place = streams.err if target == "/dev/stderr" else streams.out
        else:
            self._inside.files.write(target, "", append=redirect.sign == ">>")
            place = lambda text: self._inside.files.write(target, text, append=True)  # noqa: E731
        out, err = (streams.out, place) if redirect.stream == 2 else (place, streams.err)
        return Streams(out, err, streams.input)

    def _expand_all(self, words: tuple[Word, ...], streams: Streams) -> Words:
        expanded: list[str] = []
        for word in words:
            expanded += yield from self._expand(word, streams)
        return expanded

    def _expand(self, word: Word, streams: Streams, *, split: bool = True) -> Words:
        """A word's text; what comes out of an unquoted variable or command falls apart at blanks."""
        fields, is_open = [""], False
        for part in word.parts:
            text, may_split = yield from self._part(part, streams)
            if split and may_split:
                pieces = text.split()
                if pieces:
                    fields[-1] += pieces[0]
                    fields += pieces[1:]
                    is_open = True
            else:
                fields[-1] += text
                is_open = True
        return fields if is_open else []

    def _part(
        self, part: Text | Variable | Output | Sum, streams: Streams
    ) -> Generator[Effect, Any, tuple[str, bool]]:
        match part:
            case Text(text):
                return text, False
            case Variable(name, otherwise, quoted):
                return self._variable(name) or otherwise, not quoted
            case Sum(expression):
                return str(arithmetic.value(expression, self._variables)), False
            case Output(script, quoted):
                printed: list[str] = []
                inner = Interpreter(self._process, self._inside, dict(self._variables))
                self._status = yield from inner.script(script, Streams(printed.append, streams.err))
                return "".join(printed).rstrip("\n"), not quoted

    def _variable(self, name: str) -> str:
        match name:
            case "?":
                return str(self._status)
            case "$":
                return "1" if self._process.is_init else str(self._process.pid)
            case _:
                return self._variables.get(name, "")
