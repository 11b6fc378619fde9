"""Tell the API how a pod is, and that it may forget it.

The answer to a report is the pod as the API now has it; it goes into the mailbox like news from the watch, so the
agent knows what it has told without waiting for the echo.
"""

from typing import Final

from flexlet.api import decode
from flexlet.api.nodepod import NodePod
from flexlet.api.status import ApiError, NotFound
from flexlet.core.agent import status
from flexlet.core.agent.deeds import FinishDelete, ReportStatus
from flexlet.core.agent.observations import Done, Failed, Outcome, PodSeen
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands.tools import Tools
from flexlet.ports.cluster import PODS

GONE: Final = "NotFound"


async def report(tools: Tools, deed: ReportStatus, record: PodRecord, _: World) -> Outcome:
    """Patch the status of this very pod; a namesake that came after it is not touched."""
    meta = record.api_pod.metadata
    body = status.patch(record.api_pod, deed.status)
    try:
        raw = await tools.cluster.patch(
            PODS, meta.namespace, meta.name, body, kind="strategic", subresource="status"
        )
    except NotFound as error:
        return Failed(reason=GONE, message=str(error))
    except ApiError as error:
        return Failed(reason=error.reason, message=str(error))
    pod = decode.from_json(raw, NodePod)
    if pod.metadata.uid == record.uid:
        tools.tell(PodSeen(pod, record.source, record.unsupported))
    return Done()


async def finish_delete(tools: Tools, _: FinishDelete, record: PodRecord, __: World) -> Outcome:
    """Delete it from the API for good."""
    meta = record.api_pod.metadata
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": meta.uid},
    }
    try:
        await tools.cluster.delete(PODS, meta.namespace, meta.name, options)
    except NotFound:
        return Done()
    except ApiError as error:
        if error.code == 409:  # another pod has the name now
            return Done()
        raise
    return Done()
