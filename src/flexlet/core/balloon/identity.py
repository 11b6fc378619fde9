"""Which pods are balloons to their node (balloon.md §2, §8).

A balloon is never a victim, so a pod must not become one by a label alone: anybody can write that. It also has to
be in the namespace of the system, or to have a priority that is guarded: the balloons' own class, one of the names
that KEP-5620 proposes for it, or a critical one. A pod from the node's own files is none: it cannot be resized.
"""

from typing import Final

from flexlet.api.pod import Pod
from flexlet.core.balloon import names
from flexlet.core.critical import is_critical, is_static

CLASSES: Final = frozenset({names.CLASS, "system-balloon", "system-node-balloon"})


def is_balloon(pod: Pod) -> bool:
    """Whether the pod only keeps room of the node away from others."""
    meta = pod.metadata
    if meta.labels.get(names.LABEL) != "true" or is_static(pod):
        return False
    return meta.namespace == names.NAMESPACE or pod.spec.priority_class_name in CLASSES or is_critical(pod)
