"""Run a lifecycle hook inside a container or against it."""

from typing import Final

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.handlers import Handler
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


async def run(
    tools: Tools,
    pod: NodePod,
    container: NodeContainer,
    handler: Handler,
    container_id: str,
    ips: tuple[str, ...],
    timeout_s: float = _PATIENCE_S,
) -> str:
    """Empty if it succeeded, else what its container shows while it waits."""
    try:
        request = hook_request(pod, container, handler, ips[0] if ips else "")
    except InputError as error:
        return hook_failure(pod, container.name, handler, error.message)
    match request:
        case ExecRequest(command=command):
            result = await _executed(tools, container_id, command)
            return exec_failure(pod, container.name, handler, result)
        case SleepRequest(seconds=seconds):
            await tools.clock.sleep(seconds)
            return ""
        case GrpcRequest():
            return hook_failure(pod, container.name, handler, "invalid handler: gRPC is no way to run a hook")
        case _:
            why = await tools.prober.call(request, timeout_s)
            return hook_failure(pod, container.name, handler, why) if why else ""


async def _executed(tools: Tools, container_id: str, command: tuple[str, ...]) -> ExecResult | RuntimeFault:
    try:
        return await tools.runtime.exec_sync(container_id, command, 0)
    except RuntimeFault as fault:
        return fault
