"""Steps, one after the other, each with what was before, what is after, and how long it took."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from flexlet.apps.demo.world import DemoWorld, Told
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock

Act = Callable[[DemoWorld], Awaitable[Told]]


class Step(msgspec.Struct, frozen=True):
    """A thing to show: its name in the table, what is said before it, and the deed itself."""

    name: str
    introduction: str
    act: Act


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the table."""

    step: str
    before: str
    after: str
    seconds: float
    ok: bool = True


async def tell(steps: Sequence[Step], world: DemoWorld, clock: Clock, say: Callable[[str], None]) -> list[Row]:
    """Run the steps in order; the first that fails is the last."""
    rows: list[Row] = []
    for number, step in enumerate(steps, 1):
        say(f"\n{number}. {step.introduction}")
        began = clock.monotonic()
        try:
            told = await step.act(world)
        except (FlexletError, TimeoutError) as error:
            seconds = clock.monotonic() - began
            rows.append(Row(step=step.name, before="", after=f"failed: {error}", seconds=seconds, ok=False))
            say(f"   failed: {error}")
            break
        seconds = clock.monotonic() - began
        rows.append(Row(step=step.name, before=told.before, after=told.after, seconds=seconds))
        say(f"   {told.before} -> {told.after}, {seconds:.1f} s")
    return rows
