"""Work that failed on single objects: how long each is left alone, what is told of it, how often it happened.

One object that nobody can handle must not end a loop, nor fill a log. So each has a back-off of its own, which
doubles while it keeps failing; a fault inside a back-off (the object changed and failed again) is counted and not
told. Pure: time is an argument, the shells around it log and wait.
"""

from typing import Final, NamedTuple

FIRST_WAIT_S: Final = 1.0
LAST_WAIT_S: Final = 300.0

_TOTAL: Final = "flexlet_loop_faults_total"
_HELD: Final = "flexlet_loop_faulty_objects"


class LookFault(NamedTuple):
    """A look at one object failed; with None in place of the error, the object is well again."""

    key: str
    error: Exception | None


class Hold(NamedTuple):
    """An object is left alone until then; `tell` once per back-off."""

    until: float
    wait_s: float
    tell: bool


class Faults:
    """All faults of a process, by loop and object."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Hold] = {}
        self._counts: dict[str, int] = {}

    def failed(self, loop: str, key: str, now: float) -> Hold:
        """Work on an object failed: when to try again, and whether to say so."""
        self._counts[loop] = self._counts.get(loop, 0) + 1
        before = self._held.get((loop, key))
        if before is not None and now < before.until:
            return before._replace(tell=False)
        wait = FIRST_WAIT_S if before is None else min(before.wait_s * 2, LAST_WAIT_S)
        hold = self._held[loop, key] = Hold(now + wait, wait, tell=True)
        return hold

    def until(self, loop: str, key: str) -> float:
        """When an object may be tried again; 0 if nothing is wrong with it."""
        hold = self._held.get((loop, key))
        return hold.until if hold is not None else 0.0

    def ended(self, loop: str, key: str) -> None:
        """Work on an object went well, or the object is gone."""
        self._held.pop((loop, key), None)

    def count(self, loop: str) -> int:
        """How often work failed in a loop."""
        return self._counts.get(loop, 0)

    def held(self, loop: str) -> frozenset[str]:
        """The objects of a loop whose last try failed."""
        return frozenset(key for name, key in self._held if name == loop)

    def render(self) -> str:
        """Both numbers of every loop that ever failed, as Prometheus reads them."""
        if not self._counts:
            return ""
        lines = [f"# HELP {_TOTAL} Work on single objects that failed, by loop.", f"# TYPE {_TOTAL} counter"]
        lines += [f'{_TOTAL}{{loop="{loop}"}} {count}' for loop, count in sorted(self._counts.items())]
        lines += [f"# HELP {_HELD} Objects whose last try failed, by loop.", f"# TYPE {_HELD} gauge"]
        lines += [f'{_HELD}{{loop="{loop}"}} {len(self.held(loop))}' for loop in sorted(self._counts)]
        return "\n".join(lines) + "\n"
