"""What things are called on the node: labels, annotations, the container's hash, log paths.

Readers of logs and of metrics find pods by these, and a restarted agent finds its own containers; the words are
the kubelet's.
"""

from typing import Final

from flexlet.api import gotext
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.pod import Pod
from flexlet.core import fnv
from flexlet.core.agent.setup import NodeSetup

POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
POD_UID: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME: Final = "io.kubernetes.container.name"
HASH: Final = "io.kubernetes.container.hash"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
MESSAGE_PATH: Final = "io.kubernetes.container.terminationMessagePath"
MESSAGE_POLICY: Final = "io.kubernetes.container.terminationMessagePolicy"
GRACE: Final = "io.kubernetes.pod.terminationGracePeriod"
DELETION_GRACE: Final = "io.kubernetes.pod.deletionGracePeriod"
PRE_STOP: Final = "io.kubernetes.container.preStopHandler"
PORTS: Final = "io.kubernetes.container.ports"

_LINK_STEM: Final = 251


def pod_labels(pod: Pod) -> dict[str, str]:
    """The three labels by which everything of a pod is found."""
    meta = pod.metadata
    return {POD_NAME: meta.name, POD_NAMESPACE: meta.namespace, POD_UID: meta.uid}


def container_hash(container: NodeContainer) -> str:
    """FNV-1a of name and image, printed the way Go prints bytes; nothing else makes a container another one."""
    text = gotext.json_text({"image": container.image, "name": container.name})
    printed = "([]uint8)[" + " ".join(str(byte) for byte in text.encode()) + "]"
    return f"{fnv.fnv1a(printed.encode()):x}"


def log_directory(pod: Pod, setup: NodeSetup) -> str:
    """Where all logs of a pod lie."""
    meta = pod.metadata
    return f"{setup.pod_logs}/{meta.namespace}_{meta.name}_{meta.uid}"


def log_path(pod: Pod, setup: NodeSetup, container: str, attempt: int) -> str:
    """The log of one run."""
    return f"{log_directory(pod, setup)}/{container}/{attempt}.log"


def log_link(pod: Pod, container: str, container_id: str) -> str:
    """The name under which log collectors look for it."""
    stem = f"{pod.metadata.name}_{pod.metadata.namespace}_{container}-{container_id}"
    return f"{stem[:_LINK_STEM]}.log"


def full_name(pod: NodePod) -> str:
    """How messages name a pod."""
    meta = pod.metadata
    return f"{meta.name}_{meta.namespace}({meta.uid})"
