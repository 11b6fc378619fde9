"""Stop a container: its preStop hook, then the signal, all within one grace period.

The hook's seconds are taken off the grace; at least two are left for the signal, as the kubelet leaves them. A
hook that hangs is abandoned when the grace is over.
"""

import asyncio
import contextlib
from typing import Final

from flexlet.core.agent.containers import container as making
from flexlet.core.agent.deeds import StopContainer
from flexlet.core.agent.observations import Done, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands import hooks
from flexlet.engine.agent.hands.tools import Tools

_LEAST_S: Final = 2


async def stop(tools: Tools, deed: StopContainer, record: PodRecord, _: World) -> Outcome:
    """Done when its process is gone; a failing hook is told in the outcome and stops nothing."""
    began = tools.clock.monotonic()
    failure = ""
    if deed.pre_stop is not None and deed.grace_s > 0:
        failure = await _prepare(tools, deed, record)
    spent = int(tools.clock.monotonic() - began)
    await tools.runtime.stop_container(deed.container_id, max(_LEAST_S, deed.grace_s - spent))
    return Done(hook_failure=failure)


async def _prepare(tools: Tools, deed: StopContainer, record: PodRecord) -> str:
    """Run the hook for as long as the grace lasts."""
    container = making.named(record.pod, deed.container)
    assert deed.pre_stop is not None  # noqa: S101 asked by the caller
    hook = asyncio.ensure_future(
        hooks.run(tools, record.pod, container, deed.pre_stop, deed.container_id, record.ips, deed.grace_s)
    )
    limit = asyncio.ensure_future(tools.clock.sleep(deed.grace_s))
    try:
        await asyncio.wait({hook, limit}, return_when=asyncio.FIRST_COMPLETED)
        return hook.result() if hook.done() else ""
    finally:
        for each in (hook, limit):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each
