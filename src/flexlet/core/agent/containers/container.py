"""A container as the runtime is asked to make it."""

import msgspec

from flexlet.api import decode
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.handlers import Probe
from flexlet.core.agent.containers import expansion, names, security
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.record import ImageState, Pin
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.cgroups.containers import RuntimeResources, container_resources
from flexlet.core.runtime.configs import ContainerConfig, Mount
from flexlet.errors import InvariantBroken


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """All that a container is made from; `pod` and `container` are as allocated."""

    pod: NodePod
    container: NodeContainer
    setup: NodeSetup
    attempt: int
    image: ImageState
    envs: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    target_id: str = ""
    pin: Pin = Pin()
    """The CPUs and NUMA nodes that it is kept on."""
    exclusive: bool = False
    """Whether these CPUs are its own, so that no quota must hold it back."""


def named(pod: NodePod, name: str) -> NodeContainer:
    """A container of any kind by its name."""
    spec = pod.spec
    for each in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers):
        if each.name == name:
            return each
    raise InvariantBroken(f"pod {names.full_name(pod)} has no container {name}")


def probe(container: NodeContainer, kind: str) -> Probe:
    """The probe of a kind; asked only for probes that are there."""
    found = {
        "startup": container.startup_probe,
        "readiness": container.readiness_probe,
        "liveness": container.liveness_probe,
    }[kind]
    if found is None:
        raise InvariantBroken(f"container {container.name} has no {kind} probe")
    return found


def container_config(making: Making) -> ContainerConfig | Problem:
    """Everything CreateContainer needs."""
    pod, container, setup = making.pod, making.container, making.setup
    context = security.of_container(pod, container, setup, making.image, making.target_id)
    if isinstance(context, Problem):
        return context
    known = dict(making.envs)
    return ContainerConfig(
        name=container.name,
        attempt=making.attempt,
        image=container.image,
        image_ref=making.image.ref,
        command=tuple(expansion.expanded(word, known) for word in container.command),
        args=tuple(expansion.expanded(word, known) for word in container.args),
        working_dir=container.working_dir,
        envs=making.envs,
        mounts=making.mounts,
        labels={**names.pod_labels(pod), names.CONTAINER_NAME: container.name},
        annotations=_annotations(pod, container, making.attempt),
        log_path=f"{container.name}/{making.attempt}.log",
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        tty=container.tty,
        stop_signal=(container.lifecycle.stop_signal or "") if container.lifecycle is not None else "",
        resources=_resources(making),
        security=context,
    )


def _resources(making: Making) -> RuntimeResources:
    pod, container, setup = making.pod, making.container, making.setup
    amounts = container_resources(pod, container, setup.host, setup.cgroups, exclusive_cpus=making.exclusive)
    return msgspec.structs.replace(amounts, cpuset_cpus=making.pin.cpus, cpuset_mems=making.pin.mems)


def _annotations(pod: NodePod, container: NodeContainer, attempt: int) -> dict[str, str]:
    """What an agent needs to know of the container when the pod's spec is gone."""
    grace = pod.spec.termination_grace_period_seconds
    deletion = pod.metadata.deletion_grace_period_seconds
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    always = {
        names.HASH: names.container_hash(container),
        names.RESTART_COUNT: str(attempt),
        names.MESSAGE_PATH: container.termination_message_path,
        names.MESSAGE_POLICY: container.termination_message_policy,
    }
    found = {
        names.GRACE: "" if grace is None else str(grace),
        names.DELETION_GRACE: "" if deletion is None else str(deletion),
        names.PRE_STOP: "" if hook is None else decode.to_json(hook).decode(),
        names.PORTS: decode.to_json(container.ports).decode() if container.ports else "",
    }
    return always | {key: value for key, value in found.items() if value}
