"""How the containers of a pod are: which questions are due, what the answers mean, what to do about them.

A question (`deeds.RunProbe`) belongs to one run of a container; a new run starts from nothing. `due` says what to
ask now, `answered` takes an answer into the record, the predicates say what is known. `exec_answer`,
`probe_request` and `hook_request` are the pure halves of asking: what to send, and what came of it.
"""

from flexlet.core.agent.probing.answers import TRIES, answered, exec_answer
from flexlet.core.agent.probing.health import failed_liveness, has_started, is_alive, is_ready
from flexlet.core.agent.probing.hooks import exec_failure, hook_failure
from flexlet.core.agent.probing.schedule import due
from flexlet.core.agent.probing.targets import (
    ExecRequest,
    GrpcRequest,
    HttpRequest,
    Request,
    SleepRequest,
    TcpRequest,
    hook_request,
    probe_request,
)

__all__ = [
    "TRIES",
    "ExecRequest",
    "GrpcRequest",
    "HttpRequest",
    "Request",
    "SleepRequest",
    "TcpRequest",
    "answered",
    "due",
    "exec_answer",
    "exec_failure",
    "failed_liveness",
    "has_started",
    "hook_failure",
    "hook_request",
    "is_alive",
    "is_ready",
    "probe_request",
]
