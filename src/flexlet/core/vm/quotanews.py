"""For which machines a quota has changed, and what of them has not been tried since.

A change counts once for each resource. If it counted until something succeeds, CPU and memory that are both
refused would take turns for ever, each trying again while the other's refusal is on its way.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.core.vm import aim, fallback
from flexlet.core.vm.objects import AT_REST, Resize
from flexlet.core.vm.scene import Scene

_ALL: Final = frozenset(aim.RESOURCES)


class QuotaNews:
    """By machine: the resources that may be tried again."""

    def __init__(self) -> None:
        self._untried: dict[str, frozenset[str]] = {}

    def moved(self, key: str) -> None:
        """A quota that a machine is counted by is another one now."""
        self._untried[key] = _ALL

    def of(self, key: str) -> frozenset[str]:
        """What a change may be good for."""
        return self._untried.get(key, frozenset())

    def looked(self, scene: Scene) -> None:
        """What was held is tried with this look; an attempt on its way may be refused by the quota as it was."""
        resize = scene.vm.status.resize
        left = self.of(scene.key) - frozenset(_held(resize)) if _is_under_way(scene, resize) else frozenset()
        if left:
            self._untried[scene.key] = left
        else:
            self._untried.pop(scene.key, None)

    def forget(self, key: str) -> None:
        """The machine is no more."""
        self._untried.pop(key, None)


def _is_under_way(scene: Scene, resize: Resize | None) -> bool:
    return scene.refusal is not None or (resize is not None and resize.phase not in AT_REST)


def _held(resize: Resize | None) -> Iterator[str]:
    for each in resize.setbacks if resize else ():
        if each.reason == fallback.QUOTA:
            yield each.resource
