"""From a pod template to pods: bodies and hashes.

A template is kept as the bytes of its JSON and decoded anew for each pod, so that no two bodies share a value that
a server might change. Templates are the same if their JSON is, apart from order, empty values and the hash label;
the hash is FNV-1a of that, spelled as upstream spells it. Its value differs from upstream's, which hashes a dump
of Go structures: nothing but the equality of templates may depend on it.
"""

import hashlib
from functools import lru_cache
from typing import Any, Final

import msgspec

from flexlet.core.controllers.controller import Controller
from flexlet.core.views.objects import ObjectView

HASH_LABEL: Final = "pod-template-hash"
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193

_sorted: Final = msgspec.json.Encoder(order="sorted")


def pod_body(template: bytes, controller: Controller, owner: ObjectView) -> dict[str, Any]:
    """A new pod of a template; the caller may change it."""
    value = msgspec.json.decode(template)
    described = value.get("metadata") or {}
    metadata: dict[str, Any] = {"generateName": f"{owner.name}-"}
    metadata |= {key: described[key] for key in ("labels", "annotations", "finalizers") if described.get(key)}
    metadata["ownerReferences"] = [controller.reference(owner)]
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": value.get("spec") or {}}


@lru_cache(maxsize=1024)
def digest(template: bytes) -> bytes:
    """Equal for templates that mean the same."""
    return hashlib.blake2b(_canonical(template), digest_size=16).digest()


def hash_of(template: bytes, collisions: int | None) -> str:
    """The text that tells the templates of one owner apart."""
    data = _canonical(template)
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(_fnv(data)))


def _canonical(template: bytes) -> bytes:
    value = msgspec.json.decode(template)
    labels = (value.get("metadata") or {}).get("labels") or {}
    labels.pop(HASH_LABEL, None)
    return _sorted.encode(_substance(value))


def _substance(value: Any) -> Any:
    """Without the members that say nothing."""
    if isinstance(value, dict):
        parts = {key: _substance(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None and part not in ({}, [])}
    if isinstance(value, list):
        return [_substance(part) for part in value]
    return value


def _fnv(data: bytes) -> int:
    result = _FNV_OFFSET
    for byte in data:
        result = ((result ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return result
