"""What a pod's volumes consist of, ready to be laid out on disk, and what they are made from."""

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


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What was fetched: data by reference (None: there is no such object), and tokens by request."""

    objects: dict[Reference, dict[str, bytes] | None] = {}
    tokens: dict[TokenRequest, str] = {}


class Problem(msgspec.Struct, frozen=True):
    """Why something cannot be made now; a value, because it is retried. `subject` is the volume, if any."""

    message: str
    subject: str = ""


class File(msgspec.Struct, frozen=True):
    """A file of a volume."""

    data: bytes
    mode: int


class EmptyDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that starts empty and is kept; in memory if `size_bytes` is not None."""

    name: str
    in_memory: bool = False
    size_bytes: int | None = None
    """Of a directory in memory; None: as large as the kernel likes."""
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
    refresh_at: float | None = None
    """When a token in it must be renewed."""


VolumeContent = EmptyDirectory | HostDirectory | FileSet
