"""Stop a container: its preStop hook, then the signal, all within one grace period.

The hook's seconds are taken off the grace; at least two are left for the signal, as the kubelet leaves them. A
hook that hangs is abandoned when the grace is over.
"""

from typing import Final

from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent.containers import container as making
from flexlet.core.agent.deeds import RunPreStop, StopContainer
from flexlet.core.agent.observations import Done, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands import hooks, leftovers
from flexlet.engine.agent.hands.tools import Tools

_LEAST_S: Final = 2


async def stop(tools: Tools, deed: StopContainer, record: PodRecord, world: World) -> Outcome:
    """Done when its process is gone; a failing hook is told in the outcome and stops nothing."""
    began = tools.clock.monotonic()
    if deed.replaces:
        there = record.shown.containers if record.shown is not None else ()
        await tools.ledger.replaced.add(record.pod_uid, deed.container_id, {run.id for run in there})
    failure = ""
    if deed.pre_stop is not None and deed.grace_s > 0:
        failure = await _pre_stop(tools, deed.container, deed.container_id, deed.pre_stop, deed.grace_s, record)
    spent = int(tools.clock.monotonic() - began)
    await tools.runtime.stop_container(deed.container_id, max(_LEAST_S, deed.grace_s - spent))
    await leftovers.end(tools, record, world, deed.container_id)
    return Done(hook_failure=failure)


async def run_pre_stop(tools: Tools, deed: RunPreStop, record: PodRecord, _: World) -> Outcome:
    """Only the hook; the container goes on until it is its turn."""
    failure = await _pre_stop(tools, deed.container, deed.container_id, deed.hook, deed.grace_s, record)
    return Done(hook_failure=failure)


async def _pre_stop(
    tools: Tools, name: str, container_id: str, handler: Handler, grace_s: int, record: PodRecord
) -> str:
    """Run a hook for as long as the grace lasts."""
    target = hooks.Target(record.pod, making.named(record.pod, name), container_id, record.ips)
    return await hooks.pre_stop(tools, target, handler, grace_s)
