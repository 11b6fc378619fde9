"""Directories in huge pages: of which size the pages are. Follows the kubelet's emptyDir plugin."""

from collections.abc import Iterator
from typing import Final

from flexlet.api import quantity
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.resources.names import HUGEPAGES_PREFIX, is_hugepages
from flexlet.errors import InputError

MEDIUM: Final = "HugePages"
_SIZED: Final = f"{MEDIUM}-"


def is_medium(medium: str) -> bool:
    """Whether a volume shall lie in huge pages: ``HugePages`` or ``HugePages-2Mi``."""
    return medium == MEDIUM or medium.startswith(_SIZED)


def page_size(medium: str, pod: NodePod) -> int | Problem:
    """The size that the medium names, or the only one that the pod asks for; it must ask for it either way."""
    asked = set(_asked(pod))
    if medium != MEDIUM:
        try:
            asked &= {quantity.parse(medium.removeprefix(_SIZED)).value}
        except InputError as error:
            return Problem(str(error))
    if len(asked) > 1:
        return Problem(f"medium: {medium} can't be used if container requests multiple huge page sizes")
    if not asked:
        text = "hugePages storage requested, but there is no resource request for huge pages"
        return Problem(f"medium {medium}: {text}")
    return asked.pop()


def _asked(pod: NodePod) -> Iterator[int]:
    spec = pod.spec
    everything = [each.resources for each in (*spec.containers, *spec.init_containers)]
    for given in (*everything, *([spec.resources] if spec.resources is not None else [])):
        for name in given.requests:
            if is_hugepages(name):
                yield quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value
