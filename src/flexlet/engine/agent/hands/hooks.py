"""Run a lifecycle hook inside a container or against it, and tell when it starts and how it ends.

A preStop hook has as long as the grace lasts; then it is abandoned and its container is stopped all the same. The
kubelet lets an abandoned hook run on until the container is killed under it, which then counts as its failure; so
an abandoned hook is told as a failed one here, too.
"""

import asyncio
import contextlib
from typing import Final

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent.hooks import ABANDONED, FAILED, NOT_COMPLETED, POST_START, PRE_STOP, STARTED, SUCCEEDED
from flexlet.core.agent.observations import HookChanged
from flexlet.core.agent.probing import (
    ExecRequest,
    GrpcRequest,
    SleepRequest,
    exec_failure,
    hook_failure,
    hook_request,
)
from flexlet.core.runtime.shown import ExecResult
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import InputError, RuntimeFault

_PATIENCE_S: Final = 60.0


class Target(msgspec.Struct, frozen=True):
    """Whose hook it is."""

    pod: NodePod
    container: NodeContainer
    container_id: str
    ips: tuple[str, ...]

    def changed(self, hook: str, state: str, message: str = "", seconds: float = 0.0) -> HookChanged:
        """What is told of the hook."""
        return HookChanged(
            uid=self.pod.metadata.uid,
            container=self.container.name,
            hook=hook,
            state=state,
            message=message,
            seconds=seconds,
        )


async def post_start(tools: Tools, target: Target, handler: Handler) -> str:
    """Empty if it succeeded, else what its container shows while it waits."""
    began = tools.clock.monotonic()
    tools.tell(target.changed(POST_START, STARTED))
    failure = await _run(tools, target, handler, _PATIENCE_S)
    _tell_end(tools, target, POST_START, failure, began)
    return failure


async def pre_stop(tools: Tools, target: Target, handler: Handler, grace_s: int) -> str:
    """Empty if it succeeded within the grace, else why not."""
    began = tools.clock.monotonic()
    tools.tell(target.changed(PRE_STOP, STARTED))
    failure = await _within(tools, target, handler, grace_s)
    if failure is None:
        tools.tell(target.changed(PRE_STOP, ABANDONED, seconds=tools.clock.monotonic() - began))
        return NOT_COMPLETED
    _tell_end(tools, target, PRE_STOP, failure, began)
    return failure


def _tell_end(tools: Tools, target: Target, hook: str, failure: str, began: float) -> None:
    state = FAILED if failure else SUCCEEDED
    tools.tell(target.changed(hook, state, failure, tools.clock.monotonic() - began))


async def _within(tools: Tools, target: Target, handler: Handler, grace_s: int) -> str | None:
    """How the hook ended; None if it did not within the grace."""
    hook = asyncio.ensure_future(_run(tools, target, handler, grace_s))
    limit = asyncio.ensure_future(tools.clock.sleep(grace_s))
    try:
        await asyncio.wait({hook, limit}, return_when=asyncio.FIRST_COMPLETED)
        return hook.result() if hook.done() else None
    finally:
        for each in (hook, limit):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each


async def _run(tools: Tools, target: Target, handler: Handler, timeout_s: float) -> str:
    """Empty if it succeeded."""
    pod, name = target.pod, target.container.name
    try:
        request = hook_request(pod, target.container, handler, target.ips[0] if target.ips else "")
    except InputError as error:
        return hook_failure(pod, name, handler, error.message)
    match request:
        case ExecRequest(command=command):
            result = await _executed(tools, target.container_id, command)
            return exec_failure(pod, name, handler, result)
        case SleepRequest(seconds=seconds):
            await tools.clock.sleep(seconds)
            return ""
        case GrpcRequest():
            return hook_failure(pod, name, handler, "invalid handler: gRPC is no way to run a hook")
        case _:
            why = await tools.prober.call(request, timeout_s)
            return hook_failure(pod, name, handler, why) if why else ""


async def _executed(tools: Tools, container_id: str, command: tuple[str, ...]) -> ExecResult | RuntimeFault:
    try:
        return await tools.runtime.exec_sync(container_id, command, 0)
    except RuntimeFault as fault:
        return fault
