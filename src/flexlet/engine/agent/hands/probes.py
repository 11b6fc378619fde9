"""Ask a container how it is."""

from flexlet.core.agent.containers import container as making
from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.observations import Answer, Outcome
from flexlet.core.agent.probing import TRIES, ExecRequest, SleepRequest, exec_answer, probe_request
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import InputError, RuntimeFault


async def ask(tools: Tools, deed: RunProbe, record: PodRecord, _: World) -> Outcome:
    """The container's answer; trouble with asking is an unknown one."""
    container = making.named(record.pod, deed.container)
    probe = making.probe(container, deed.kind)
    try:
        request = probe_request(record.pod, container, probe, record.ips[0] if record.ips else "")
    except InputError as error:
        return Answer(result="unknown", output=error.message)
    match request:
        case ExecRequest(command=command):
            return await _execute(tools, deed.container_id, command, probe.timeout_seconds)
        case SleepRequest():
            return Answer(result="unknown", output="missing probe handler")
        case _:
            return await tools.prober.ask(request, probe.timeout_seconds)


async def _execute(tools: Tools, container_id: str, command: tuple[str, ...], timeout_s: int) -> Answer:
    """A question that could not be put is put again; a container that takes too long has answered."""
    answer = Answer(result="unknown")
    for _ in range(TRIES):
        try:
            result = await tools.runtime.exec_sync(container_id, command, timeout_s)
        except RuntimeFault as fault:
            answer = exec_answer(fault, command, timeout_s)
        else:
            answer = exec_answer(result, command, timeout_s)
        if answer.result != "unknown":
            break
    return answer
