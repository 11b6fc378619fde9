"""What must be there before containers can run: the pod's cgroup, its volumes, its sandbox.

Cgroup and volumes are made side by side, the sandbox when both are there. If the cgroup is missing while there are
containers or sandboxes they are outside of it and must go first. A sandbox is made anew if it is not ready, if
there are two, if its network is not what the pod asks for or has no address; everything that ran in the old one is
stopped, and its init containers are removed, so that the pod starts from the beginning.

Follows `SyncPod` of kubelet and runtime manager in Kubernetes 1.36.3.
"""

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.volumes import Volume
from flexlet.core.agent import delays, events, managing, runs
from flexlet.core.agent.containers import dns
from flexlet.core.agent.deeds import CreatePodCgroup, MountVolumes, RemoveContainer, RunSandbox
from flexlet.core.agent.lifecycle import killing
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.cgroups import pods
from flexlet.core.cgroups.paths import pod_path
from flexlet.core.cgroups.values import files
from flexlet.core.resize import targets
from flexlet.core.resize.events import NORMAL, WARNING
from flexlet.core.resources.qos import recorded_qos_class
from flexlet.core.runtime import configs
from flexlet.core.runtime.shown import CREATED, EXITED, RUNNING


def are_laid(draft: Draft, *, needs_sandbox: bool) -> bool:
    """Whether containers can start; if not, what is missing is being made."""
    record = draft.record
    has_cgroup = record.has_cgroup and not _is_half_made(draft)
    if not has_cgroup and not _make_cgroup(draft):
        return False
    if not record.volumes:
        draft.issue(MountVolumes(uid=record.uid))
    if not has_cgroup or not record.volumes:
        return False
    if needs_sandbox:
        _make_sandbox(draft)
        return False
    return True


def is_beyond_repair(draft: Draft) -> bool:
    """Whether a pod that has lost its sandbox has nothing left to do in a new one."""
    shown, containers = draft.shown, draft.pod.spec.containers
    if not any(_may_restart(draft, each) for each in containers) and shown.sandboxes and shown.containers:
        return True
    newest = {each.name: shown.newest(each.name) for each in containers}
    begun = any(run is not None and run.state in {CREATED, RUNNING, EXITED} for run in newest.values())
    return begun and all(_is_through(draft, each) for each in containers)


def refresh(draft: Draft) -> None:
    """Bring the contents of volumes up to date from time to time."""
    if not draft.record.volumes or not any(map(_changes, draft.pod.spec.volumes)):
        return
    if draft.now >= draft.record.refresh_volumes_at:
        draft.issue(MountVolumes(uid=draft.record.uid))
    draft.wake(draft.record.refresh_volumes_at)


def cgroup_path(draft: Draft) -> str:
    """Where the pod's cgroup lies."""
    return pod_path(recorded_qos_class(draft.pod), draft.record.pod_uid, draft.setup.driver)


def _changes(volume: Volume) -> bool:
    sources = (volume.config_map, volume.secret, volume.projected, volume.downward_api)
    return any(source is not None for source in sources)


def _is_half_made(draft: Draft) -> bool:
    """Whether an agent died between making the cgroup and writing its values; nothing is in it yet."""
    return not draft.record.has_values and not draft.shown.sandboxes and not draft.shown.containers


def _make_cgroup(draft: Draft) -> bool:
    """Whether the rest may go on meanwhile."""
    if not killing.clear(draft, replaces=False):
        return False
    exclusive = bool(managing.exclusive(draft.record, draft.setup))
    values = pods.pod_cgroup(draft.allocated, draft.setup.cgroups, exclusive_cpus=exclusive)
    draft.issue(
        CreatePodCgroup(
            uid=draft.record.uid,
            path=cgroup_path(draft),
            files=files(values, draft.setup.host.hugepage_sizes),
            actuated=targets.cgroup_created(draft.record.actuated, draft.allocated),
        )
    )
    return True


def _make_sandbox(draft: Draft) -> None:
    if not killing.clear(draft, replaces=True) or not _is_purged(draft) or not _has_network(draft):
        return
    before = draft.shown.sandboxes
    attempt = before[0].attempt + 1 if before else 0
    if not draft.issue(RunSandbox(uid=draft.record.uid, attempt=attempt)):
        return
    if before and _is_alike(draft):
        text = "Pod sandbox changed, it will be killed and re-created."
        draft.tell(events.of_pod(draft.pod, NORMAL, "SandboxChanged", text))
    for each in dns.notices(draft.pod, draft.setup):
        draft.tell(events.of_pod(draft.pod, WARNING, each.reason, each.message))


def _is_purged(draft: Draft) -> bool:
    """Whether no trace of earlier initialization is left."""
    inits = {each.name for each in draft.pod.spec.init_containers}
    left = [run for run in draft.shown.containers if run.name in inits]
    for run in left:
        draft.issue(RemoveContainer(uid=draft.record.uid, container=run.name, container_id=run.id))
    return not left


def _has_network(draft: Draft) -> bool:
    """Without one only pods on the host's network can start; the others look again soon."""
    setup = draft.setup
    if draft.pod.spec.host_network or setup.network_ready:
        return True
    if draft.may("network"):
        text = f"network is not ready: {setup.network_message}"
        draft.tell(events.of_pod(draft.pod, WARNING, "NetworkNotReady", text))
        wait = delays.again(draft.record.uid, "network", draft.now, delays.NETWORK_S)
        draft.change(retries={**draft.record.retries, "network": wait})
        draft.wake(wait.ends_at)
    return False


def _is_alike(draft: Draft) -> bool:
    """Whether the old sandbox had the network that the pod asks for."""
    wanted = configs.NODE if draft.pod.spec.host_network else configs.POD
    return draft.shown.sandboxes[0].network == wanted


def _may_restart(draft: Draft, container: NodeContainer) -> bool:
    if container.restart_policy is None:
        return draft.pod.spec.restart_policy != "Never"
    by_rule = any(rule.action == runs.RESTART for rule in container.restart_policy_rules)
    return by_rule or container.restart_policy != "Never"


def _is_through(draft: Draft, container: NodeContainer) -> bool:
    """Whether a container that runs once has ended well."""
    policy = container.restart_policy or draft.pod.spec.restart_policy
    run = draft.shown.newest(container.name)
    return policy == "OnFailure" and run is not None and run.state == EXITED and run.exit_code == 0
