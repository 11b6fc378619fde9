"""Container images as one archive in the OCI image layout, written piece by piece: layers may be large files.

Follows the OCI image specification; names are given as containerd reads them (`io.containerd.image.name`). Images
that share a layer share its bytes. Equal layers and settings, equal bytes.
"""

import hashlib
import io
import tarfile
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURE: Final = {"architecture": "amd64", "os": "linux"}


class Blob(msgspec.Struct, frozen=True):
    """A layer (an uncompressed tar archive) or another part of an image: its bytes, or the file that has them."""

    digest: str
    size: int
    data: bytes | Path

    def open(self) -> IO[bytes]:
        """To read it from its beginning."""
        return io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data.open("rb")


class ContainerImage(msgspec.Struct, frozen=True):
    """An image under all of its names; `settings` is the part of its configuration that says what it runs."""

    names: tuple[str, ...]
    layers: tuple[Blob, ...]
    settings: Mapping[str, Any]


def blob(data: bytes | Path) -> Blob:
    """A part of an image, with its digest."""
    if isinstance(data, bytes):
        return Blob(f"sha256:{hashlib.sha256(data).hexdigest()}", len(data), data)
    with data.open("rb") as file:
        return Blob(f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}", data.stat().st_size, data)


def write(images: Iterable[ContainerImage], target: IO[bytes], without: Container[Blob] = ()) -> None:
    """Write the images as an archive for `ctr images import`, without layers that are there already."""
    blobs: dict[str, Blob] = {}
    named = [entry for image in images for entry in _entries(image, blobs)]
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, "oci-layout", blob(_json({"imageLayoutVersion": "1.0.0"})))
        _add(tar, "index.json", blob(_json({"schemaVersion": 2, "manifests": named})))
        for each in (each for each in blobs.values() if each not in without):
            _add(tar, f"blobs/{each.digest.replace(':', '/')}", each)


def _entries(image: ContainerImage, blobs: dict[str, Blob]) -> list[dict[str, Any]]:
    manifest = {**_manifest(image, blobs), "platform": _ARCHITECTURE}
    return [{**manifest, "annotations": _notes(name)} for name in image.names]


def _manifest(image: ContainerImage, blobs: dict[str, Blob]) -> dict[str, Any]:
    rootfs = {"type": "layers", "diff_ids": [layer.digest for layer in image.layers]}
    config = blob(_json({**_ARCHITECTURE, "config": image.settings, "rootfs": rootfs}))
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _descriptor(blobs, _CONFIG, config),
        "layers": [_descriptor(blobs, _LAYER, layer) for layer in image.layers],
    }
    return _descriptor(blobs, _MANIFEST, blob(_json(manifest)))


def _descriptor(blobs: dict[str, Blob], media_type: str, each: Blob) -> dict[str, Any]:
    blobs[each.digest] = each
    return {"mediaType": media_type, "digest": each.digest, "size": each.size}


def _notes(name: str) -> dict[str, str]:
    return {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}


def _add(tar: tarfile.TarFile, name: str, each: Blob) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = each.size, 0o644
    with each.open() as data:
        tar.addfile(info, data)


def _json(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    return msgspec.json.encode(value)
