"""The container images that a node brings along, as an archive in the OCI image layout.

Made from one busybox binary with plain Python, because a lab must not depend on an image registry. All images
share one layer (every applet linked under /bin), so a node unpacks it once. Equal busybox, equal bytes.
"""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from flexlet.adapters.image import layout, program
from flexlet.adapters.image.layout import ContainerImage

TOOLS = ("docker.io/flexlet/tools:latest", "docker.io/library/busybox:1", "docker.io/library/busybox:latest")
PAUSE = "docker.io/flexlet/pause:latest"
# As the first process of a pod it reaps what nobody waits for, and leaves at once when told to.
PAUSE_COMMAND = ("/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done")

_ACCOUNTS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUPS = "root:x:0:\nnobody:x:65534:\n"


def write_archives(directory: Path, busybox: Path) -> list[Path]:
    """Write the images into `directory` as archives for `ctr images import`, and say which files they are."""
    applets = program.run([str(busybox), "--list"]).split()
    path = directory / "images.tar"
    path.write_bytes(archive(busybox.read_bytes(), applets))
    return [path]


def archive(busybox: bytes, applets: Sequence[str]) -> bytes:
    """All images in one OCI layout."""
    root = (layout.blob(layer(busybox, applets)),)
    environment = {"Env": ["PATH=/bin"]}
    tools = ContainerImage(TOOLS, root, {**environment, "Cmd": ["/bin/sh"]})
    pause = ContainerImage((PAUSE,), root, {**environment, "Entrypoint": list(PAUSE_COMMAND)})
    buffer = io.BytesIO()
    layout.write([tools, pause], buffer)
    return buffer.getvalue()


def layer(busybox: bytes, applets: Sequence[str]) -> bytes:
    """The one layer: busybox, a link for each applet, two accounts and a place for temporary files."""
    members = [_folder(name) for name in ("bin", "etc", "root", "tmp")]
    members[-1][0].mode = 0o1777
    members += [_file("bin/busybox", busybox, 0o755)]
    members += [_link(f"bin/{name}") for name in sorted(applets) if name != "busybox"]
    members += [_file("etc/passwd", _ACCOUNTS.encode(), 0o644), _file("etc/group", _GROUPS.encode(), 0o644)]
    return _packed(members)


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
