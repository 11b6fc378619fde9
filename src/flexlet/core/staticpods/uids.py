"""The uid of a static pod: the one that a kubelet 1.36 gives it, so that either can take over from the other.

It is a hash of the pod as the file gives it with its defaults, of the node and of the path. Whoever changes the
file gets another pod. Follows ``pkg/kubelet/config/common.go``.
"""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.core.staticpods import godump

_BASIS: Final = 0x6C62272E07BB014262B821756295C58D
_PRIME: Final = 0x0000000001000000000000000000013B
_MASK: Final = (1 << 128) - 1


def uid(full: Mapping[str, Any], given: Mapping[str, Any], node: str, path: str) -> str:
    """32 hexadecimal digits; `full` has the defaults that `given`, as the file has it, lacks."""
    return f"{fnv1a_128(f'{godump.pod(full, given)}host:{node}file:{path}'.encode()):032x}"


def fnv1a_128(data: bytes) -> int:
    """The hash of Fowler, Noll and Vo, in its variant 1a with 128 bits."""
    value = _BASIS
    for byte in data:
        value = ((value ^ byte) * _PRIME) & _MASK
    return value
