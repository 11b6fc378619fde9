"""The container images that nodes bring along."""

import hashlib
import io
import json
import stat
import tarfile
from pathlib import Path
from typing import Any

from flexlet.adapters.image import oci

APPLETS = ["sh", "busybox", "ls"]


def contents(data: bytes) -> dict[str, bytes]:
    """The files of a tar archive."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: file.read() for member in tar if (file := tar.extractfile(member))}


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """What a descriptor points at; its digest and size must be true."""
    algorithm, digest = descriptor["digest"].split(":")
    data = files[f"blobs/{algorithm}/{digest}"]
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest, descriptor["size"])
    return data


def test_every_name_leads_to_a_whole_image() -> None:
    """Names lead to manifests, those to a configuration and the layer, by true digests; nothing is left over."""
    files = contents(oci.archive(b"BUSYBOX", APPLETS))
    index = json.loads(files["index.json"])
    images = {}
    used = {"index.json", "oci-layout"}
    for entry in index["manifests"]:
        manifest = json.loads(blob(files, entry))
        config = json.loads(blob(files, manifest["config"]))
        [layer] = manifest["layers"]
        assert blob(files, layer) == oci.layer(b"BUSYBOX", APPLETS)
        assert config["rootfs"] == {"type": "layers", "diff_ids": [layer["digest"]]}
        assert entry["platform"] == {"architecture": config["architecture"], "os": config["os"]}
        digests = [part["digest"] for part in (entry, manifest["config"], layer)]
        used |= {f"blobs/{digest.replace(':', '/')}" for digest in digests}
        images[entry["annotations"]["io.containerd.image.name"]] = config["config"]
    tools = {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]}
    pause = {"Env": ["PATH=/bin"], "Entrypoint": list(oci.PAUSE_COMMAND)}
    assert images == {**dict.fromkeys(oci.TOOLS, tools), oci.PAUSE: pause}
    assert set(files) == used
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}


def test_the_layer() -> None:
    with tarfile.open(fileobj=io.BytesIO(oci.layer(b"BUSYBOX", APPLETS))) as tar:
        members = [(m.name, stat.filemode(m.mode | kind(m)), m.linkname, m.uid, m.mtime) for m in tar]
    assert members == [
        ("bin", "drwxr-xr-x", "", 0, 0),
        ("etc", "drwxr-xr-x", "", 0, 0),
        ("root", "drwxr-xr-x", "", 0, 0),
        ("tmp", "drwxrwxrwt", "", 0, 0),
        ("bin/busybox", "-rwxr-xr-x", "", 0, 0),
        ("bin/ls", "lrwxrwxrwx", "busybox", 0, 0),
        ("bin/sh", "lrwxrwxrwx", "busybox", 0, 0),
        ("etc/passwd", "-rw-r--r--", "", 0, 0),
        ("etc/group", "-rw-r--r--", "", 0, 0),
    ]


def test_equal_busybox_equal_bytes(tmp_path: Path) -> None:
    """The applets are those that the binary itself lists, in any order."""
    busybox = tmp_path / "busybox"
    busybox.write_text("#!/bin/sh\n[ $1 = --list ] && echo ls && echo sh && echo busybox\n")
    busybox.chmod(0o755)
    [path] = oci.write_archives(tmp_path, busybox)
    assert path.read_bytes() == oci.archive(busybox.read_bytes(), APPLETS)


def kind(member: tarfile.TarInfo) -> int:
    """The type bits of a member."""
    if member.isdir():
        return stat.S_IFDIR
    return stat.S_IFLNK if member.issym() else stat.S_IFREG
