"""Which images may go, and when: those that nobody uses, the longest unused first.

An image is in use while any container has it, ended ones too, and while a pod is about to start with it. What was
found just now may have been pulled for somebody who has yet to start, so it stays for a while. Pinned images stay
for ever. Follows ``pkg/kubelet/images`` of Kubernetes 1.36.3.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from flexlet.core.agent.containers import images
from flexlet.core.agent.record import PodRecord
from flexlet.core.runtime.shown import Image

PERIOD_S: Final = 300.0
EVERYTHING: Final = 2**63 - 1
"""More bytes than there are."""
_NEVER: Final = float("-inf")
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class ImagePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decides about images."""

    high_percent: int = 85
    """Above this much in use of their file system, images go ..."""
    low_percent: int = 80
    """... until this much is."""
    min_age_s: float = 120.0
    max_age_s: float = 0.0
    """How long an image may be unused at all; 0: any time."""

    @property
    def is_idle(self) -> bool:
        """Whether no image ever goes by this."""
        return self.high_percent == 100 and not self.max_age_s


class ImageUse(msgspec.Struct, frozen=True):
    """When an image was first seen, and when somebody was last seen to use it."""

    first_seen: float
    last_used: float = _NEVER


Uses = Mapping[str, ImageUse]
"""By image id."""


def names_in_use(records: Iterable[PodRecord]) -> frozenset[str]:
    """Every id and name by which pods have images, those of ended runs and of runs to come included."""
    found: set[str] = set()
    for record in records:
        found.update(state.ref for state in record.images.values())
        found.update(state.ref for state in record.volume_images.values())
        found |= _of_volumes(record)
        for run in record.shown.containers if record.shown is not None else ():
            found |= {run.image, run.image_ref, run.image_id}
            found |= {mount.image.ref for mount in run.mounts if mount.image is not None}
    return frozenset(found - {""})


def _of_volumes(record: PodRecord) -> set[str]:
    """Full names of images that are volumes: an agent that has just begun has pulled none of them itself."""
    if record.stopped:
        return set()
    volumes = (each.image for each in record.pod.spec.volumes if each.image is not None)
    return {images.full_name(each.reference) for each in volumes}


def is_used(image: Image, names: Collection[str]) -> bool:
    """Whether any of its names is among those in use."""
    return any(name in names for name in (image.id, *image.tags, *image.digests))


def looked(uses: Uses, present: Iterable[Image], names: Collection[str], now: float) -> dict[str, ImageUse]:
    """What is known after a look; images that are gone are forgotten."""
    found = {}
    for image in present:
        known = uses.get(image.id, ImageUse(now))
        found[image.id] = ImageUse(known.first_seen, now) if is_used(image, names) else known
    return found


def in_order(present: Iterable[Image], uses: Uses, names: Collection[str]) -> list[Image]:
    """Images that could go, the longest unused first."""
    free = [image for image in present if not image.pinned and not is_used(image, names)]
    return sorted(free, key=lambda image: (uses[image.id].last_used, uses[image.id].first_seen))


def outdated(ordered: Iterable[Image], uses: Uses, policy: ImagePolicy, began: float, now: float) -> list[Image]:
    """Those unused for too long; nothing is known about that before the agent itself is old enough."""
    if not policy.max_age_s or now - began <= policy.max_age_s:
        return []
    return [image for image in ordered if now - uses[image.id].last_used > policy.max_age_s]


def ripe(ordered: Iterable[Image], uses: Uses, policy: ImagePolicy, now: float) -> list[Image]:
    """Those that may go for their space."""
    return [image for image in ordered if now - uses[image.id].first_seen >= policy.min_age_s]


def to_free(capacity: int, available: int, policy: ImagePolicy) -> int:
    """How many bytes shall be won back; 0 while there is room."""
    if used_percent(capacity, available) < policy.high_percent:
        return 0
    return capacity * (100 - policy.low_percent) // 100 - min(available, capacity)


def used_percent(capacity: int, available: int) -> int:
    """How full it is."""
    return 100 - min(available, capacity) * 100 // capacity


def not_enough(capacity: int, available: int, freed: int) -> str:
    """What is told when too little could be freed."""
    return (
        f"Insufficient free disk space on the node's image filesystem "
        f"({used_percent(capacity, available)}% of {_size(capacity)} used). "
        f"Failed to free sufficient space by deleting unused images (freed {freed} bytes). "
        "Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
    )


def _size(amount: int) -> str:
    for unit, name in _UNITS:
        if amount >= unit:
            return f"{amount / unit:.1f} {name}"
    return f"{amount} B"
