"""Pod specs that were seen before: what a Deployment or a Job makes a thousand times is judged once.

Looking at a spec takes longer than everything else that a create does, and almost all pods come from templates.
So specs in which nothing was found are remembered by their bytes, under one set of rules. Only "nothing to say" is
ever remembered: what has an error or a warning is looked at again each time. What must stay true: the judgement of
a remembered spec depends on its bytes alone. Therefore specs with annotations beside them (profiles, claims) or
with volumes that take the pod's name are not remembered, and the one thing that differs between pods of a
template, the random name of the volume with the token, is written as a mark that no name can be.
"""

import re
import threading
from typing import Final

import msgspec

from flexlet.apiserver.contract.kind import Object

MAX_SPECS: Final = 1024
MAX_BYTES: Final = 16 * 1024
MARK: Final = b'"?"'
_TOKEN_VOLUME: Final = re.compile(r"kube-api-access-[a-z0-9]{5}")
_NAMED_AFTER_THE_POD: Final = b'"ephemeral":'

_encode: Final = msgspec.json.Encoder().encode


def template_text(spec: Object) -> tuple[bytes, bytes] | None:
    """A spec with a mark in place of the token volume's name, and that name, quoted; None if it is too long."""
    text = _encode(spec)
    if len(text) > MAX_BYTES or MARK in text:
        return None
    for volume in reversed(spec.get("volumes") or ()):
        name = volume.get("name") or ""
        if _TOKEN_VOLUME.fullmatch(name):
            quoted = b'"%s"' % name.encode()
            return text.replace(quoted, MARK), quoted
    return text, MARK


def fingerprint(pod: Object) -> bytes | None:
    """What the judgement of the pod's spec depends on; None if that is more than its bytes."""
    if pod["metadata"].get("annotations"):
        return None
    found = template_text(pod["spec"])
    return None if found is None or _NAMED_AFTER_THE_POD in found[0] else found[0]


class KnownSpecs:
    """The specs about which there is nothing to say, the oldest forgotten first."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}
        self._lock = threading.Lock()  # large objects are looked at in another thread

    def __contains__(self, found: bytes | None) -> bool:
        return found in self._known

    def add(self, found: bytes) -> None:
        """Remember one."""
        with self._lock:
            if len(self._known) >= MAX_SPECS:
                del self._known[next(iter(self._known))]
            self._known[found] = None
