"""What becomes of a grow that the node or the API refuses: remedies on the node first, then the fallback."""

import re
import zlib
from typing import Any, Final

import msgspec

from flexlet.api import age, quantity
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.actions import ApiAction, CreateObject, PatchObject
from flexlet.core.nodesize import names as nodenames
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import aim, names
from flexlet.core.vm.migratable import not_migratable
from flexlet.core.vm.objects import Resize
from flexlet.core.vm.podsize import Need
from flexlet.core.vm.scene import Refusal, Scene

QUOTA: Final = "QuotaExceeded"
LIMIT_RANGE: Final = "LimitRange"
CAPACITY: Final = "NodeCapacity"
INFEASIBLE: Final = "Infeasible"
DEFERRED: Final = "Deferred"
AWAITING: Final = "AwaitingNode"
FORBIDDEN: Final = "Forbidden"
INVALID: Final = "Invalid"

_CAPACITY: Final = ("enough allocatable", "enough capacity")
_LIMITS: Final = re.compile(r"(minimum|maximum) \S+ usage per|max limit to request ratio per")
_QUOTA: Final = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)")


class Answer(msgspec.Struct, frozen=True):
    """A resize with what was decided about a setback, and what is to be done for that."""

    resize: Resize
    actions: tuple[ApiAction, ...] = ()


# ---- refusals of the API


def refused(scene: Scene, resize: Resize, refusal: Refusal, need: Need, now: float) -> Answer:
    """The API did not take a resize: no waiting, and the reason decides."""
    reason, message = classify(refusal)
    if reason == CAPACITY:
        return no_room(scene, resize, refusal.resource, CAPACITY, message, need, now)
    return Answer(hold(scene, resize, refusal.resource, reason, message, now))


def classify(refusal: Refusal) -> tuple[str, str]:
    """Which kind of refusal it is, and what people are told."""
    text = refusal.message
    if "exceeded quota" in text:
        return QUOTA, quota_text(text)
    if any(words in text for words in _CAPACITY):
        return CAPACITY, text
    if _LIMITS.search(text):
        return LIMIT_RANGE, text
    return (FORBIDDEN if refusal.code == 403 else INVALID), text


def quota_text(message: str) -> str:
    """How much more is needed and how much is free, from what the quota plugin says."""
    found = _QUOTA.search(message)
    if found is None:
        return message
    quota, *columns = found.groups()
    asked, used, limit = (_column(text) for text in columns)
    parts = [
        f"{name}: {amount} more needed, {limit.get(name, ZERO) - used.get(name, ZERO)} free"
        for name, amount in asked.items()
    ]
    return f"quota {quota}: {', '.join(parts)}"


def _column(text: str) -> dict[str, Quantity]:
    pairs = (pair.partition("=") for pair in text.split(","))
    return {name: quantity.parse(amount) for name, _, amount in pairs if amount}


# ---- no room


def no_room(
    scene: Scene, resize: Resize, resource: str, reason: str, message: str, need: Need, now: float
) -> Answer:
    """The node cannot ever grant it as it is: make the node larger if somebody can, else fall back."""
    patch = None if resize.remedy else remedy(scene, need)
    if patch is None:
        return fall_back(scene, resize, resource, reason, message, now)
    held = hold(scene, resize, resource, AWAITING, message, now)
    asked = msgspec.structs.replace(held, remedy=patch.reason, deferred_at=age.format_micro(now))
    return Answer(asked, (patch,))


def deferred(scene: Scene, resize: Resize, resource: str, need: Need, now: float) -> Answer:
    """The node has no room now: ask whoever can make some, wait, and fall back when it takes too long."""
    since = resize.deferred_at or age.format_micro(now)
    resize = msgspec.structs.replace(resize, deferred_at=since)
    patch = None if resize.remedy else remedy(scene, need)
    if patch is not None:
        return Answer(msgspec.structs.replace(resize, remedy=patch.reason), (patch,))
    is_late = now >= aim.moment(since) + scene.defer_timeout_s
    if not is_late or _waits(scene):
        return Answer(resize)
    message = scene.pod.message if scene.pod else ""
    text = f"the node has had no room for {scene.defer_timeout_s:g} s: {message}".rstrip(": ")
    return fall_back(scene, resize, resource, DEFERRED, text, now)


def fall_back(scene: Scene, resize: Resize, resource: str, reason: str, message: str, now: float) -> Answer:
    """Do what the machine's owner chose; the pod's spec goes back to what was granted with it."""
    chosen = scene.vm.spec.resize_policy.fallback
    if _waits(scene):
        return Answer(hold(scene, resize, resource, reason, f"{message}{_rooted(scene)}", now))
    held = hold(scene, resize, resource, reason, message, now)
    marked = msgspec.structs.replace(held, fallback=chosen)
    if chosen != "Migrate" or resize.fallback == "Migrate":
        return Answer(marked)
    return Answer(marked, (_migration(scene, resize),))


def _waits(scene: Scene) -> bool:
    """Whether nothing is done but to wait: that was chosen, or the machine cannot be moved."""
    chosen = scene.vm.spec.resize_policy.fallback
    return chosen == "Wait" or (chosen == "Migrate" and not_migratable(scene.vm) is not None)


def _rooted(scene: Scene) -> str:
    found = not_migratable(scene.vm)
    is_asked = found is not None and scene.vm.spec.resize_policy.fallback == "Migrate"
    return f"; the machine cannot be moved: {found[1]}" if found is not None and is_asked else ""


def hold(scene: Scene, resize: Resize, resource: str, reason: str, message: str, now: float) -> Resize:
    """A resource stays at what the guest has, or may take already."""
    amount = scene.guest.vcpus if resource == CPU else scene.reach.memory
    return aim.set_back(resize, resource, reason, message, amount, now)


def _migration(scene: Scene, resize: Resize) -> CreateObject:
    meta = scene.vm.metadata
    owner = {"apiVersion": names.API_VERSION, "kind": names.KIND, "name": meta.name, "uid": meta.uid}
    body: dict[str, Any] = {
        "kind": names.MIGRATION_KIND,
        "apiVersion": names.API_VERSION,
        "metadata": {
            "name": f"{meta.name}-{zlib.crc32(resize.id.encode()):08x}",
            "namespace": meta.namespace,
            "ownerReferences": [owner],
        },
        "spec": {"vmName": meta.name},
    }
    return CreateObject(ref=names.MIGRATIONS, namespace=meta.namespace, body=body, on_behalf_of=scene.key)


# ---- the node itself


def remedy(scene: Scene, need: Need) -> PatchObject | None:
    """Ask the NodeSize of the node for what is missing: its balloon gives back, or hardware is plugged."""
    size, missing = scene.size, lacking(scene, need)
    if size is None or size.metadata.deletion_timestamp is not None or not any(missing.values()):
        return None
    effective = sizes.of(size.status.effective)
    if not _has_hardware(scene):
        spare = sizes.less(sizes.of(size.status.balloon.allocated), sizes.FLOOR)
        if any(missing[r] > spare[r] for r in sizes.RESOURCES):
            return None
    target = size.spec.target
    if target is not None and target.balloon:
        held = sizes.of(size.status.balloon.allocated)
        change = {"balloon": _texts({r: held[r] - missing[r] for r in missing if missing[r]})}
    else:
        change = {"effective": _texts({r: effective[r] + missing[r] for r in missing if missing[r]})}
    what = " and ".join(sizes.text(r, amount) for r, amount in missing.items() if amount)
    return PatchObject(
        ref=nodenames.NODE_SIZES,
        name=size.metadata.name,
        patch={"spec": {"target": change}},
        reason=f"node {size.metadata.name} was asked for {what} more",
        on_behalf_of=scene.key,
    )


def lacking(scene: Scene, need: Need) -> Amounts:
    """What workloads may use less of than they and this pod ask for."""
    size, others = scene.size, scene.others
    if size is None or others is None:
        return dict(sizes.NOTHING)
    whole = sizes.total((others, {CPU: need.cpu_m, MEMORY: need.memory}))
    return sizes.largest(sizes.less(whole, sizes.of(size.status.effective)), sizes.NOTHING)


def has_grown(scene: Scene, need: Need) -> bool:
    """Whether the node could hold it by now."""
    node = scene.node
    return node is not None and node.allocatable[CPU] >= need.cpu_m and node.allocatable[MEMORY] >= need.memory


def _has_hardware(scene: Scene) -> bool:
    spec = scene.size.spec if scene.size else None
    return spec is not None and spec.via in {"Auto", "Hardware"} and bool(spec.machine and spec.machine.qmp)


def _texts(amounts: Amounts) -> dict[str, str]:
    return {r: str(sizes.quantity(r, amount)) for r, amount in amounts.items()}
