"""Make a pod's volumes, keep their contents current, and take them away."""

from msgspec.structs import replace

from flexlet.api.nodepod import NodePod
from flexlet.api.status import ApiError
from flexlet.core.agent.containers import sandbox, volumes
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.deeds import MountVolumes, RemoveVolumes
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import HostError


async def mount(tools: Tools, _: MountVolumes, record: PodRecord, world: World) -> Outcome:
    """Fetch what they are made from, and lay them out; if that fails, find out for which volume."""
    pod = sandbox.as_allocated(record, world.setup)
    try:
        return await _make(tools, pod, record, world)
    except (ApiError, HostError):
        return await _one_by_one(tools, pod, record, world)


async def _one_by_one(tools: Tools, pod: NodePod, record: PodRecord, world: World) -> Outcome:
    for volume in pod.spec.volumes:
        alone = replace(pod, spec=replace(pod.spec, volumes=(volume,)))
        try:
            outcome = await _make(tools, alone, record, world)
        except (ApiError, HostError) as error:
            return Failed(message=str(error), detail=volume.name)
        if isinstance(outcome, Failed):
            return outcome
    return await _make(tools, pod, record, world)


async def _make(tools: Tools, pod: NodePod, record: PodRecord, world: World) -> Outcome:
    material = await tools.objects.material(pod, volumes.references(pod), volumes.tokens(pod))
    contents = volumes.contents(pod, world.setup, material, record.ips)
    if isinstance(contents, Problem):
        return Failed(message=contents.message, detail=contents.subject)
    await tools.files.prepare(record.uid, contents, pod.spec.security_context.fs_group)
    return Done()


async def remove(tools: Tools, deed: RemoveVolumes, record: PodRecord, _: World) -> Outcome:
    """Unmount, and remove the whole directory if nothing of the pod is left."""
    if deed.everything:
        await tools.files.remove_pod(record.uid)
    else:
        await tools.files.remove_volumes(record.uid)
    return Done()
