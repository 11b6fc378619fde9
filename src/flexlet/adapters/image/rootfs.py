"""Building an image: Debian packages become a tree, the tree becomes a disk, a kernel and an initramfs.

Works as root and, where user namespaces allow it, without: mmdebstrap finds the way that this host permits and hands
over a tar archive, the only form whose owners are right in all of them. Without root the tree on disk belongs to the
caller, and mke2fs runs where the caller looks like root.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flexlet.adapters.image import initramfs, mirror, tools
from flexlet.adapters.image.progress import Progress
from flexlet.adapters.image.recipe import Recipe, script
from flexlet.errors import HostError

# What the guest's Python needs to run on the host, where it compiles the code layer.
_PYTHON = ("usr/bin/python3.13", "usr/lib/python3.13")
_LIBRARIES = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libz.so.1", "libexpat.so.1")
# mmdebstrap's words for its steps, and ours.
_STEPS = {
    "running apt-get update": "reading Debian's package lists",
    "downloading packages with apt": "downloading packages",
    "extracting archives": "unpacking packages",
    "installing essential packages": "installing the base",
    "installing remaining packages inside the chroot": "installing containerd, Python and the rest",
}


def build(recipe: Recipe, target: Path, progress: Progress) -> None:
    """Fill `target` with vmlinuz, initrd.img, rootfs.img, image.json, busybox and python/."""
    tree = target / "tree"
    progress(f"building the node image from Debian {recipe.suite} (once; some minutes)")
    archive = target / "tree.tar"
    _bootstrap(recipe, archive, progress)
    progress("making the disk")
    _unpack(archive, tree)
    archive.unlink()
    _finish(recipe, tree, target)
    _make_disk(recipe, tree, target / "rootfs.img")
    shutil.rmtree(tree)


def _bootstrap(recipe: Recipe, archive: Path, progress: Progress) -> None:
    """Run mmdebstrap; its steps are the progress, its last words the error."""
    environment = {**os.environ, "KERNEL": recipe.kernel, "KERNEL_SUITE": recipe.kernel_suite}
    command = [tools.find("mmdebstrap"), *_options(recipe), recipe.suite, str(archive), *_sources(recipe)]
    said: list[str] = []
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            said.append(line.rstrip())
            if step := _STEPS.get(line[3:].rstrip(".\n")):
                progress(f"  {step}")
    if process.returncode:
        last = "\n".join(said[-15:])
        raise HostError(f"mmdebstrap could not build the node image (exit code {process.returncode}):\n{last}")


def _options(recipe: Recipe) -> Iterator[str]:
    yield from ["--variant=essential", "--format=tar", f"--include={','.join(recipe.packages)}"]
    yield from (f"--dpkgopt=path-exclude={pattern}" for pattern in recipe.excluded)
    yield from ['--aptopt=APT::Sandbox::User "root"', '--aptopt=Acquire::Languages "none"']
    yield from (f"--aptopt={option}" for option in _apt_options())
    # The text instead of a path: without root, another user runs it and may not enter the caller's folders.
    yield f"--customize-hook={script('customize')}"
    if mirror.of_host() is None:
        # mmdebstrap knows an address of its own; the kernel's suite is at the same one.
        yield f'--setup-hook=cd "$1/etc/apt" && sed -i "p;s/ {recipe.suite} / {recipe.kernel_suite} /" sources.list'


def _sources(recipe: Recipe) -> list[str]:
    host = mirror.of_host()
    return [host.line(suite) for suite in (recipe.suite, recipe.kernel_suite)] if host else []


def _apt_options() -> list[str]:
    """The host's ways through proxies; mmdebstrap reads no apt.conf but its own."""
    command = ["apt-config", "dump", "--format", '%f "%v"%n', "Acquire::http", "Acquire::https"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line for line in said.splitlines() if not line.endswith('""')]


def _unpack(archive: Path, tree: Path) -> None:
    tree.mkdir()
    # Devices come from the kernel; without root they could not be made anyway.
    _run(["tar", "--extract", "--file", str(archive), "--directory", str(tree), "--exclude=./dev/*"])


def _finish(recipe: Recipe, tree: Path, target: Path) -> None:
    """Take out of the tree what is needed beside the disk."""
    (tree / "boot/vmlinuz").rename(target / "vmlinuz")
    shutil.copy(tree / "usr/bin/busybox", target / "busybox")
    modules = next((tree / "usr/lib/modules").iterdir())
    busybox = (target / "busybox").read_bytes()
    (target / "initrd.img").write_bytes(initramfs.build(busybox, modules, recipe.first_modules))
    _keep_python(tree, target / "python")
    about = {"kernel": modules.name, "packages": _versions(tree), "recipe": recipe}
    (target / "image.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)))


def _keep_python(tree: Path, target: Path) -> None:
    libraries = [f"usr/lib/x86_64-linux-gnu/{name}" for name in _LIBRARIES]
    for name in (*_PYTHON, *libraries):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (tree / name).is_dir():
            shutil.copytree(tree / name, target / name, symlinks=False, ignore_dangling_symlinks=True)
        else:
            shutil.copy(tree / name, target / name)


def _versions(tree: Path) -> dict[str, str]:
    """What dpkg says is installed."""
    status = (tree / "var/lib/dpkg/status").read_text()
    stanzas = (dict(_fields(stanza)) for stanza in status.split("\n\n"))
    return {fields["Package"]: fields["Version"] for fields in stanzas if "Version" in fields}


def _fields(stanza: str) -> Iterator[tuple[str, str]]:
    for line in stanza.splitlines():
        if line.startswith(("Package: ", "Version: ")):
            key, _, value = line.partition(": ")
            yield key, value


def _make_disk(recipe: Recipe, tree: Path, disk: Path) -> None:
    disk.touch()
    os.truncate(disk, recipe.disk_bytes)
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    _run([*as_root, tools.find("mke2fs"), "-q", "-t", "ext4", *recipe.disk_options, "-d", str(tree), str(disk)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostError(f"`{' '.join(command)}` failed with exit code {done.returncode}: {done.stderr.strip()}")
