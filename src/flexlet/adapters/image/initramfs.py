"""The first root file system of a node VM: busybox, the modules that reach the disks, and a script of a few lines.

Separate from the real root file system because it is made of bytes alone. A distribution's own initramfs looks for
disks of every kind and costs 10 to 30 s under emulation; this one knows that its disks are virtio disks.
"""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

from flexlet.adapters.image import cpio
from flexlet.errors import ConfigError


def build(busybox: bytes, modules: Path, wanted: Sequence[str]) -> bytes:
    """The archive; `modules` is the kernel's folder with modules.dep, `wanted` are names of modules."""
    script = files(__package__).joinpath("files/initramfs-init").read_bytes()
    order = load_order((modules / "modules.dep").read_text(), wanted)
    return cpio.archive(
        _entries(script, busybox, [(f"{n:02}-{p.name}", modules / p) for n, p in enumerate(order)])
    )


def load_order(modules_dep: str, wanted: Sequence[str]) -> list[PurePosixPath]:
    """The files of the wanted modules and of all that they need, in an order in which insmod takes them."""
    needs = {_name(path): (path, rest.split()) for path, _, rest in map(_partition, modules_dep.splitlines())}
    order: list[PurePosixPath] = []
    for name in wanted:
        if name.replace("-", "_") not in needs:
            raise ConfigError(f"the kernel has no module {name}, which a node VM needs")
        path, dependencies = needs[name.replace("-", "_")]
        # depmod lists a module's needs with the deepest one last.
        order += [PurePosixPath(each) for each in [*reversed(dependencies), path]]
    return list(dict.fromkeys(order))


def _entries(script: bytes, busybox: bytes, modules: Sequence[tuple[str, Path]]) -> Iterator[cpio.Entry]:
    yield from map(cpio.folder, ["bin", "dev", "proc", "modules", "root"])
    yield cpio.device("dev/console", 5, 1)
    yield cpio.program("bin/busybox", busybox)
    yield cpio.program("init", script)
    for name, path in modules:
        yield cpio.program(f"modules/{name}", path.read_bytes())


def _partition(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _name(path: str) -> str:
    return PurePosixPath(path).name.removesuffix(".ko").replace("-", "_")
