"""Make and start a container, and forget one that ended.

The order is the kubelet's: configuration, the actuated record, create, start, log link, postStart hook. Each stage
fails with the reason that a waiting container shows.
"""

from typing import Final

from msgspec.structs import replace

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.status import ApiError
from flexlet.core.agent import managing, pinning
from flexlet.core.agent.containers import container as making
from flexlet.core.agent.containers import envfiles, environment, hosts, mounts, names, sandbox
from flexlet.core.agent.containers.contents import Material, Problem
from flexlet.core.agent.deeds import RemoveContainer, StartContainer
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import ImageState, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.resize.allocation import Allocation
from flexlet.core.runtime.configs import ContainerConfig, SandboxConfig
from flexlet.engine.agent.hands import hooks
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import HostError, RuntimeFault

CONFIG_ERROR: Final = "CreateContainerConfigError"
CREATE_ERROR: Final = "CreateContainerError"
RUN_ERROR: Final = "RunContainerError"
HOOK_ERROR: Final = "PostStartHookError"


async def start(tools: Tools, deed: StartContainer, record: PodRecord, world: World) -> Outcome:
    """From a pod's spec to a running process."""
    pod = sandbox.as_allocated(record, world.setup)
    container = making.named(pod, deed.container)
    try:
        config = await _config(tools, deed, record, world, pod, container)
        if isinstance(config, Problem):
            return _unconfigured(config.message)
        around = sandbox.sandbox_config(pod, world.setup, 0)
        if isinstance(around, Problem):
            return _unconfigured(around.message)
        await tools.ledger.managers.keep()
        await tools.ledger.actuated.put(record.pod_uid, _recorded(tools, deed, record))
    except (ApiError, HostError) as error:
        return _unconfigured(str(error))
    return await _run(tools, deed, pod, container, config, around, record)


def _unconfigured(message: str) -> Failed:
    return Failed(reason=CONFIG_ERROR, message=message, stage="config")


def _recorded(tools: Tools, deed: StartContainer, record: PodRecord) -> Allocation:
    """Only this container's entry: others of the pod may be starting at the same time."""
    known = tools.ledger.actuated.get(record.pod_uid)
    if known is None:
        return deed.actuated
    own = {name: each for name, each in deed.actuated.containers.items() if name == deed.container}
    return Allocation({**known.containers, **own}, deed.actuated.pod)


async def _config(
    tools: Tools, deed: StartContainer, record: PodRecord, world: World, pod: NodePod, container: NodeContainer
) -> ContainerConfig | Problem:
    target_id = _target_id(record, container)
    if isinstance(target_id, Problem):
        return target_id
    material = await _material(tools, pod, container, world)
    envs = environment.resolve(pod, container, world.setup, material, record.ips)
    if isinstance(envs, Problem):
        return envs
    paths = await _subpaths(tools, pod, container, world, envs)
    if isinstance(paths, Problem):
        return paths
    refs = {name: each.ref for name, each in record.volume_images.items() if each.ref}
    images = mounts.images(pod, container, envs, refs)
    if isinstance(images, Problem):
        return images
    own = await _own_files(tools, record, world, pod, container)
    listed = mounts.mounts(pod, container, world.setup, {**paths, **images}, *own)
    if isinstance(listed, Problem):
        return listed
    await tools.files.make_log_directory(names.log_directory(pod, world.setup), container.name)
    return making.container_config(
        making.Making(
            pod=pod,
            container=container,
            setup=world.setup,
            attempt=deed.attempt,
            image=record.images.get(container.name, ImageState(ref=deed.image_ref)),
            envs=envs,
            mounts=listed,
            target_id=target_id,
            pin=pinning.wanted(world, record.uid, container.name),
            exclusive=container.name in managing.exclusive(record, world.setup),
        )
    )


async def _material(tools: Tools, pod: NodePod, container: NodeContainer, world: World) -> Material:
    """What its variables are made from."""
    found = await tools.objects.material(pod, environment.references(container))
    places = environment.files(pod, container, world.setup)
    files = {
        each: await tools.files.read_inside(each.volume_path, each.path, envfiles.LARGEST_FILE) for each in places
    }
    return replace(found, files=files)


async def _own_files(
    tools: Tools, record: PodRecord, world: World, pod: NodePod, container: NodeContainer
) -> tuple[str, str]:
    """The hosts file and the one for last words, empty if the container has none."""
    text = hosts.text(pod, world.setup, record.ips)
    hosts_path = await tools.files.write_hosts(record.uid, text) if text is not None else ""
    if not container.termination_message_path:
        return hosts_path, ""
    return hosts_path, await tools.files.new_termination_log(record.uid, container.name)


def _target_id(record: PodRecord, container: NodeContainer) -> str | Problem:
    """Of an ephemeral container: whose processes it sees."""
    wanted = container.target_container_name
    if not wanted:
        return ""
    found = record.shown.newest(wanted) if record.shown is not None else None
    return found.id if found is not None else Problem(f"unable to find target container {wanted}")


async def _subpaths(
    tools: Tools, pod: NodePod, container: NodeContainer, world: World, envs: tuple[tuple[str, str], ...]
) -> dict[int, str] | Problem:
    wanted = mounts.subpaths(pod, container, world.setup, envs)
    if isinstance(wanted, Problem):
        return wanted
    found = {}
    for each in wanted:
        place = (each.volume_path, each.sub_path, container.name, each.index)
        try:
            found[each.index] = await tools.files.subpath(pod.metadata.uid, *place)
        except HostError:
            return mounts.unprepared(container.name, each.volume)
    return found


async def _run(
    tools: Tools,
    deed: StartContainer,
    pod: NodePod,
    container: NodeContainer,
    config: ContainerConfig,
    around: SandboxConfig,
    record: PodRecord,
) -> Outcome:
    try:
        made = await tools.runtime.create_container(deed.sandbox_id, config, around)
    except RuntimeFault as fault:
        return Failed(reason=CREATE_ERROR, message=fault.detail, stage="create")
    try:
        await tools.runtime.start_container(made)
    except RuntimeFault as fault:
        return Failed(reason=RUN_ERROR, message=fault.detail, stage="start", id=made)
    log = f"{around.log_directory}/{config.log_path}"
    await tools.files.link_log(log, names.log_link(pod, container.name, made))
    if container.lifecycle is None or container.lifecycle.post_start is None:
        return Done(id=made)
    target = hooks.Target(pod, container, made, record.ips)
    failure = await hooks.post_start(tools, target, container.lifecycle.post_start)
    return Failed(reason=HOOK_ERROR, message=failure, stage="hook", id=made) if failure else Done(id=made)


async def remove(tools: Tools, deed: RemoveContainer, record: PodRecord, world: World) -> Outcome:
    """Remove its logs first: once the runtime has forgotten it nobody knows where they are."""
    run = next((r for r in record.shown.containers if r.id == deed.container_id), None) if record.shown else None
    if run is not None:
        path = run.log_path or names.log_path(record.pod, world.setup, run.name, run.attempt)
        await tools.files.remove_logs(path, names.log_link(record.pod, run.name, run.id))
    await tools.runtime.remove_container(deed.container_id)
    return Done()
