"""The programs in the simulated image, as much of each as scripts in manifests use."""

import re
from collections.abc import Callable
from typing import Final

from flexlet.adapters.sim.inside import Inside
from flexlet.adapters.sim.processes import KILL, TERM, Body, Charge, Child, Process, Sleep
from flexlet.adapters.sim.shell.streams import Streams

Command = Callable[[Process, list[str], Inside, Streams], Body]

_SIZE: Final = re.compile(r"(\d+)([kKMGb]?)")
_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _true(_: Process, __: list[str], ___: Inside, ____: Streams) -> Body:
    yield from ()
    return 0


def _false(_: Process, __: list[str], ___: Inside, ____: Streams) -> Body:
    yield from ()
    return 1


def _sleep(_: Process, args: list[str], __: Inside, ___: Streams) -> Body:
    """A shell does not hear signals while it waits for this."""
    if args[0] in {"infinity", "inf"}:
        yield Sleep(interruptible=False)
    unit = _SECONDS.get(args[0][-1:])
    seconds = float(args[0][:-1]) * unit if unit else float(args[0])
    yield Sleep(seconds, interruptible=False)
    return 0


def _echo(_: Process, args: list[str], __: Inside, streams: Streams) -> Body:
    yield from ()
    if args[:1] == ["-n"]:
        streams.out(" ".join(args[1:]))
    else:
        streams.out(" ".join(args) + "\n")
    return 0


def _printf(_: Process, args: list[str], __: Inside, streams: Streams) -> Body:
    yield from ()
    pattern = args[0].encode().decode("unicode_escape")
    count = len(re.findall(r"%[sd]", pattern))
    streams.out(re.sub("%d", "%s", pattern) % tuple(args[1 : count + 1]))
    return 0


def _cat(_: Process, args: list[str], inside: Inside, streams: Streams) -> Body:
    yield from ()
    if not args:
        streams.out(streams.input)
    status = 0
    for path in args:
        text = inside.files.read(path)
        if text is None:
            streams.err(f"cat: can't open '{path}': No such file or directory\n")
            status = 1
        else:
            streams.out(text)
    return status


def _touch(_: Process, args: list[str], inside: Inside, __: Streams) -> Body:
    yield from ()
    for path in args:
        inside.files.write(path, "", append=True)
    return 0


def _rm(_: Process, args: list[str], inside: Inside, streams: Streams) -> Body:
    yield from ()
    forced = any(arg.startswith("-") and "f" in arg for arg in args)
    status = 0
    for path in (arg for arg in args if not arg.startswith("-")):
        if inside.files.read(path) is None and not forced:
            streams.err(f"rm: can't remove '{path}': No such file or directory\n")
            status = 1
        inside.files.remove(path)
    return status


def _test(_: Process, args: list[str], inside: Inside, __: Streams) -> Body:
    yield from ()
    return int(not _holds(args[:-1] if args[-1:] == ["]"] else args, inside))


def _holds(args: list[str], inside: Inside) -> bool:
    match args:
        case ["!", *rest]:
            return not _holds(rest, inside)
        case ["-e" | "-f", path]:
            return inside.files.read(path) is not None
        case ["-s", path]:
            return bool(inside.files.read(path))
        case ["-z", text]:
            return not text
        case ["-n", text] | [text]:
            return bool(text)
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, sign, right] if sign in _COMPARISONS:
            return _COMPARISONS[sign](int(left), int(right))
    return False


_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}


def _tail(process: Process, args: list[str], inside: Inside, streams: Streams) -> Body:
    """Of an endless file it wants all memory there is; it does so as a child, and dies as one."""
    if "/dev/zero" in args:
        yield from _eat(process, inside, 1 << 50, "anon")
        return 137
    if "-f" in args:
        yield Sleep(interruptible=False)
    return (yield from _cat(process, [arg for arg in args if arg.startswith("/")], inside, streams))


def _head(process: Process, args: list[str], inside: Inside, streams: Streams) -> Body:
    if "/dev/zero" in args and "-c" in args:
        yield Charge(_size(args[args.index("-c") + 1]), "cache")
        return 0
    return (yield from _cat(process, [arg for arg in args if arg.startswith("/")], inside, streams))


def _dd(_: Process, args: list[str], inside: Inside, streams: Streams) -> Body:
    """Only the amount matters: a file in a volume in memory stays there, any other can be dropped from cache."""
    named = dict(arg.split("=", 1) for arg in args if "=" in arg)
    count, path = int(named.get("count", "1")), named.get("of", "/dev/null")
    if path != "/dev/null":
        inside.files.write(path, "")
        kind = "shmem" if inside.files.is_in_memory(path) else "cache"
        yield Charge(count * _size(named.get("bs", "512")), kind)
    streams.err(f"{count}+0 records in\n{count}+0 records out\n")
    return 0


def _kill(_: Process, args: list[str], inside: Inside, __: Streams) -> Body:
    yield from ()
    number = {"-9": KILL, "-KILL": KILL}.get(args[0], TERM)
    for pid in (arg for arg in args if not arg.startswith("-")):
        inside.family.signal(int(pid), number)
    return 0


def _date(_: Process, __: list[str], inside: Inside, streams: Streams) -> Body:
    yield from ()
    streams.out(f"{inside.family.now():.0f}\n")
    return 0


def _env(_: Process, __: list[str], inside: Inside, streams: Streams) -> Body:
    yield from ()
    streams.out("".join(f"{name}={value}\n" for name, value in inside.environment.items()))
    return 0


def _serve(_: Process, __: list[str], ___: Inside, ____: Streams) -> Body:
    """A server runs until it is killed; nobody can connect."""
    yield Sleep(interruptible=False)
    return 0


def _eat(process: Process, inside: Inside, size: int, kind: str) -> Body:
    def child(_: Process) -> Body:
        yield Charge(size, kind)
        yield Sleep()
        return 0

    yield Child(inside.family.spawn(child, process.pid))
    return 0


def _size(text: str) -> int:
    match = _SIZE.match(text)
    return int(match[1]) * _UNITS[match[2]] if match else 0


COMMANDS: Final[dict[str, Command]] = {
    "[": _test,
    "cat": _cat,
    "date": _date,
    "dd": _dd,
    "echo": _echo,
    "env": _env,
    "false": _false,
    "head": _head,
    "httpd": _serve,
    "kill": _kill,
    "ls": _true,
    "mkdir": _true,
    "nc": _serve,
    "printf": _printf,
    "rm": _rm,
    "sleep": _sleep,
    "sync": _true,
    "tail": _tail,
    "test": _test,
    "touch": _touch,
    "true": _true,
}
