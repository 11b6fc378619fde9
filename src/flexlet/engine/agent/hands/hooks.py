"""Run a lifecycle hook inside a container or against it."""

import shlex
from typing import Final

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent.probing import ExecRequest, GrpcRequest, SleepRequest, hook_request
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
    """Empty if it succeeded, else why not."""
    try:
        request = hook_request(pod, container, handler, ips[0] if ips else "")
    except InputError as error:
        return error.message
    match request:
        case ExecRequest(command=command):
            return await _execute(tools, container_id, command)
        case SleepRequest(seconds=seconds):
            await tools.clock.sleep(seconds)
            return ""
        case GrpcRequest():
            return "gRPC is no way to run a hook"
        case _:
            return await tools.prober.call(request, timeout_s)


async def _execute(tools: Tools, container_id: str, command: tuple[str, ...]) -> str:
    try:
        result = await tools.runtime.exec_sync(container_id, command, 0)
    except RuntimeFault as fault:
        return fault.detail
    if result.exit_code == 0:
        return ""
    said = (result.stdout + result.stderr).decode(errors="replace")
    return f"command '{shlex.join(command)}' exited with {result.exit_code}: {said}"
