"""The container images that a node brings along, as an archive in the OCI image layout.

Made from one busybox binary with plain Python, because a lab must not depend on an image registry. All images
share one layer (every applet linked under /bin), so a node unpacks it once. Follows the OCI image specification;
names are given as containerd reads them (`io.containerd.image.name`). Equal busybox, equal bytes.
"""

import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from flexlet.adapters.image import program

TOOLS = ("docker.io/flexlet/tools:latest", "docker.io/library/busybox:1", "docker.io/library/busybox:latest")
PAUSE = "docker.io/flexlet/pause:latest"
# As the first process of a pod it reaps what nobody waits for, and leaves at once when told to.
PAUSE_COMMAND = ("/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done")

_ACCOUNTS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUPS = "root:x:0:\nnobody:x:65534:\n"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURE = {"architecture": "amd64", "os": "linux"}


def write_archives(directory: Path, busybox: Path) -> list[Path]:
    """Write the images into `directory` as archives for `ctr images import`, and say which files they are."""
    applets = program.run([str(busybox), "--list"]).split()
    path = directory / "images.tar"
    path.write_bytes(archive(busybox.read_bytes(), applets))
    return [path]


def archive(busybox: bytes, applets: Sequence[str]) -> bytes:
    """All images in one OCI layout."""
    blobs: dict[str, bytes] = {}
    root = layer(busybox, applets)
    tools = _image(blobs, root, {"Cmd": ["/bin/sh"]})
    pause = _image(blobs, root, {"Entrypoint": list(PAUSE_COMMAND)})
    named = [_named(tools, name) for name in TOOLS] + [_named(pause, PAUSE)]
    return _tar(
        {
            "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
            "index.json": _json({"schemaVersion": 2, "manifests": named}),
            **{f"blobs/sha256/{digest}": data for digest, data in blobs.items()},
        }
    )


def layer(busybox: bytes, applets: Sequence[str]) -> bytes:
    """The one layer: busybox, a link for each applet, two accounts and a place for temporary files."""
    members = [_folder(name) for name in ("bin", "etc", "root", "tmp")]
    members[-1][0].mode = 0o1777
    members += [_file("bin/busybox", busybox, 0o755)]
    members += [_link(f"bin/{name}") for name in sorted(applets) if name != "busybox"]
    members += [_file("etc/passwd", _ACCOUNTS.encode(), 0o644), _file("etc/group", _GROUPS.encode(), 0o644)]
    return _packed(members)


def _image(blobs: dict[str, bytes], root: bytes, process: Mapping[str, Any]) -> dict[str, Any]:
    environment = {"Env": ["PATH=/bin"], **process}
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{_sha256(root)}"]}
    config = _json({**_ARCHITECTURE, "config": environment, "rootfs": rootfs})
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(blobs, _CONFIG, config),
        "layers": [_blob(blobs, _LAYER, root)],
    }
    return {**_blob(blobs, _MANIFEST, _json(manifest)), "platform": _ARCHITECTURE}


def _named(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    tag = name.rpartition(":")[2]
    notes = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    return {**manifest, "annotations": notes}


def _blob(blobs: dict[str, bytes], media_type: str, data: bytes) -> dict[str, Any]:
    digest = _sha256(data)
    blobs[digest] = data
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _tar(files: Mapping[str, bytes]) -> bytes:
    return _packed([_file(name, data, 0o644) for name, data in files.items()])


def _packed(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    return info, b""


def _file(name: str, data: bytes, mode: int) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    return info, data


def _link(name: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, "busybox", 0o777
    return info, b""


def _json(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
