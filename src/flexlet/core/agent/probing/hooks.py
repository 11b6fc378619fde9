"""What is said of a lifecycle hook that failed: the message of the waiting container, in kubelet's words."""

from flexlet.api import gotext
from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent.containers import names
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import RuntimeFault


def hook_failure(pod: NodePod, container: str, handler: Handler, error: str, output: str = "") -> str:
    """The message for a hook that ended with `error`; `output` is what a command printed."""
    place = f'Container "{container}" in Pod "{names.full_name(pod)}"'
    if handler.exec is not None:
        kind, told = f"Exec lifecycle hook ([{' '.join(handler.exec.command)}])", gotext.quote(output)
        return f"{kind} for {place} failed - error: {error}, message: {told}"
    if handler.http_get is not None:
        return f"HTTP lifecycle hook ({handler.http_get.path}) for {place} failed - error: {error}"
    if handler.sleep is not None:
        return f"Sleep lifecycle hook ({handler.sleep.seconds}) for {place} failed - error: {error}"
    return f"Cannot run handler: {error}"


def exec_failure(pod: NodePod, container: str, handler: Handler, result: ExecResult | RuntimeFault) -> str:
    """The message for a command run as a hook; empty if it succeeded."""
    if isinstance(result, RuntimeFault):
        return hook_failure(pod, container, handler, f"rpc error: code = {result.code} desc = {result.detail}")
    if result.exit_code == 0:
        return ""
    command = " ".join(handler.exec.command) if handler.exec is not None else ""
    error = f"command '{command}' exited with {result.exit_code}: {result.stderr.decode(errors='replace')}"
    output = (result.stdout + result.stderr).decode(errors="replace")
    return hook_failure(pod, container, handler, error, output)
