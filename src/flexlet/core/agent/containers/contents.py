"""What a pod's volumes consist of, ready to be laid out on disk, and what they are made from."""

from collections.abc import Sequence

import msgspec


class Reference(msgspec.Struct, frozen=True):
    """An object of the pod's namespace that something is made from."""

    kind: str
    """``ConfigMap`` or ``Secret``."""
    name: str


class TokenRequest(msgspec.Struct, frozen=True):
    """A service-account token that a volume wants."""

    audience: str = ""
    expiration_s: int = 3600


class FileReference(msgspec.Struct, frozen=True):
    """A file of a volume that variables are read from."""

    volume_path: str
    """Where the volume lies on the host."""
    path: str
    """Inside the volume."""


class Content(msgspec.Struct, frozen=True):
    """What an object holds. The binary keys of a ConfigMap are apart: they become files, never variables."""

    data: dict[str, bytes]
    binary: dict[str, bytes] = {}
    type: str = ""
    """Of a Secret."""


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What was fetched: contents by reference (None: there is no such object), tokens by request, files."""

    objects: dict[Reference, Content | None] = {}
    tokens: dict[TokenRequest, str] = {}
    files: dict[FileReference, bytes | None] = {}
    """None: it cannot be read."""


class Problem(msgspec.Struct, frozen=True):
    """Why something cannot be made now; a value, because it is retried. `subject` is the volume, if any."""

    message: str
    subject: str = ""


def joined(problems: Sequence[Problem]) -> Problem:
    """Several problems as one, the way Kubernetes lists errors; equal ones are named once."""
    texts = dict.fromkeys(each.message for each in problems)
    return Problem(", ".join(texts)) if len(texts) == 1 else Problem(f"[{', '.join(texts)}]")


class File(msgspec.Struct, frozen=True):
    """A file of a volume."""

    data: bytes
    mode: int
    user: int | None = None
    """Who owns it; None: whoever makes it."""


class EmptyDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that starts empty and is kept; on the disk, in memory or in huge pages."""

    name: str
    in_memory: bool = False
    size_bytes: int | None = None
    """Of a directory in memory; None: as large as the kernel likes."""
    page_size: int = 0
    """Of a directory in huge pages, in bytes."""
    mode: int = 0o777


class HostDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the host, to be checked or made as its type says."""

    name: str
    path: str
    type: str = ""


class FileSet(msgspec.Struct, frozen=True, kw_only=True):
    """Files that change together, atomically; in memory, as they may be secret."""

    name: str
    plugin: str
    """``configmap``, ``secret``, ``projected`` or ``downward-api``; part of the directory's name."""
    files: dict[str, File]
    in_memory: bool = True
    size_bytes: int | None = None
    nested: tuple[str, ...] = ()
    """Directories in it on which containers mount other volumes: it is read-only, nobody can make them later."""


VolumeContent = EmptyDirectory | HostDirectory | FileSet
