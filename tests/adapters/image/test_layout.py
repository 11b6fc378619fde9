"""Archives of container images whose layers are files."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from flexlet.adapters.image import layout
from flexlet.adapters.image.layout import Blob, ContainerImage


def test_layers_from_files_are_shared_and_named_by_their_digest(tmp_path: Path) -> None:
    (tmp_path / "big.tar").write_bytes(b"big" * 1000)
    shared = layout.blob(tmp_path / "big.tar")
    assert shared == Blob(f"sha256:{hashlib.sha256(b'big' * 1000).hexdigest()}", 3000, tmp_path / "big.tar")
    small = layout.blob(b"small")
    images = [
        ContainerImage(("localhost/a:1", "localhost/a:latest"), (shared, small), {"Cmd": ["/a"]}),
        ContainerImage(("localhost/b:latest",), (shared,), {"Cmd": ["/b"]}),
    ]
    buffer = io.BytesIO()
    layout.write(images, buffer)
    with tarfile.open(fileobj=io.BytesIO(buffer.getvalue())) as tar:
        names = tar.getnames()
        files = {member.name: file.read() for member in tar if (file := tar.extractfile(member))}
    assert names[:2] == ["oci-layout", "index.json"]  # what a node compares is at the beginning
    assert len(names) == len(set(names)) == 2 + 2 + 2 * 2
    index = json.loads(files["index.json"])["manifests"]
    assert [entry["annotations"]["io.containerd.image.name"] for entry in index] == [
        "localhost/a:1",
        "localhost/a:latest",
        "localhost/b:latest",
    ]
    manifests = [json.loads(files[_path(entry["digest"])]) for entry in index]
    layers = [[layer["digest"] for layer in manifest["layers"]] for manifest in manifests]
    assert layers == [[shared.digest, small.digest], [shared.digest, small.digest], [shared.digest]]
    assert files[_path(shared.digest)] == b"big" * 1000
    configs = [json.loads(files[_path(manifest["config"]["digest"])]) for manifest in manifests]
    assert [config["rootfs"]["diff_ids"] for config in configs] == layers
    assert [config["config"] for config in configs] == [{"Cmd": ["/a"]}, {"Cmd": ["/a"]}, {"Cmd": ["/b"]}]


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"
