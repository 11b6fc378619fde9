"""Running the checks of a contract, one after the other, and saying how they went."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TextIO, TypeVar

Bench = TypeVar("Bench")
Check = Callable[[Bench], Awaitable[None]]


class Broken(AssertionError):
    """A contract does not hold."""


class Skipped(Exception):
    """A check that says nothing here, and why."""


def expect(actual: object, wanted: object, what: str = "") -> None:
    """The two are equal."""
    if actual != wanted:
        raise Broken(f"{what or 'expected'}: {wanted!r}, got {actual!r}")


async def expect_fault(kind: type[Exception], deed: Awaitable[object], **attributes: object) -> str:
    """The deed fails in this way; its message."""
    try:
        result = await deed
    except kind as fault:
        for name, wanted in attributes.items():
            expect(getattr(fault, name), wanted, name)
        return str(fault)
    raise Broken(f"expected {kind.__name__}, got {result!r}")


async def run(bench: Bench, checks: Sequence[Check[Bench]], out: TextIO = sys.stdout) -> int:
    """Run all checks and print a line for each; the number of those that failed."""
    results = Counter[str]()
    for check in checks:
        result, why = await _result(bench, check)
        results[result] += 1
        print(f"{result:4} {check.__name__.replace('_', ' ')}{why}", file=out, flush=True)
    skipped = f", {results['skip']} skipped" if results["skip"] else ""
    print(f"{results['ok']} passed, {results['FAIL']} failed{skipped}", file=out, flush=True)
    return results["FAIL"]


async def _result(bench: Bench, check: Check[Bench]) -> tuple[str, str]:
    try:
        await check(bench)
    except Skipped as why:
        return "skip", f": {why}"
    except Exception as error:  # noqa: BLE001 - a check must not keep the others from running
        return "FAIL", f": {type(error).__name__}: {error}"
    return "ok", ""
