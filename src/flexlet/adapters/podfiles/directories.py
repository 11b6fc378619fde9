"""The adapter: every call in a thread, every OS error a HostError that names the path."""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from flexlet.adapters import beneath
from flexlet.adapters.podfiles import containerlogs, subpaths, volumes
from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.core.agent.containers.contents import VolumeContent
from flexlet.errors import HostError
from flexlet.ports.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")


class PodDirectories:
    """Pods below `root` (``/var/lib/kubelet``), links to their logs in `links` (``/var/log/containers``)."""

    def __init__(self, root: Path, links: Path, clock: Clock, *, mounts: bool = True) -> None:
        self._pods = root / "pods"
        self._links = links
        self._clock = clock
        self._mounter = Mounter(enabled=mounts)

    async def prepare(self, uid: str, contents: Sequence[VolumeContent], fs_group: int | None = None) -> None:
        """Make the pod's directories and volumes."""
        await _threaded(self._prepare, uid, contents, fs_group)

    def _prepare(self, uid: str, contents: Sequence[VolumeContent], fs_group: int | None) -> None:
        pod = self._pods / uid
        self._pods.mkdir(parents=True, exist_ok=True)
        for path in (pod, pod / "volumes", pod / "plugins"):
            path.mkdir(exist_ok=True, mode=0o750)
        for content in contents:
            volumes.lay_out(pod / "volumes", content, self._mounter, fs_group, self._clock.now())

    async def subpath(self, uid: str, volume_path: str, sub_path: str, container: str, index: int) -> str:
        """A stable host path for a path inside a volume."""
        volume = Path(volume_path)
        place = self._pods / uid / "volume-subpaths" / (volume.name or "root") / container / str(index)
        return str(await _threaded(subpaths.held, volume, sub_path, place, self._mounter))

    async def read_inside(self, volume_path: str, path: str, limit_bytes: int) -> bytes | None:
        """A regular file of a volume, in which others may plant anything."""
        return await _threaded(_read_inside, Path(volume_path), path, limit_bytes)

    async def remove_volumes(self, uid: str) -> None:
        """Unmount and remove the volumes."""
        await _threaded(self._remove_volumes, uid)

    def _remove_volumes(self, uid: str) -> None:
        pod = self._pods / uid
        for part in ("volume-subpaths", "volumes"):
            self._remove(pod / part)

    def _remove(self, directory: Path) -> None:
        """Without unmounting first a removal would empty what is mounted."""
        self._mounter.unmount_below(directory)
        if directory.exists():
            shutil.rmtree(directory)

    async def remove_pod(self, uid: str) -> None:
        """Remove the pod's directory, volumes included."""
        await _threaded(self._remove_pod, uid)

    def _remove_pod(self, uid: str) -> None:
        self._remove(self._pods / uid)

    async def known(self) -> tuple[str, ...]:
        """Uids of the pods that have a directory."""
        return await _threaded(lambda: tuple(sorted(each.name for each in _entries(self._pods))))

    async def write_hosts(self, uid: str, text: str) -> str:
        """Write the pod's hosts file."""
        path = self._pods / uid / "etc-hosts"
        await _threaded(_write, path, text, 0o644)
        return str(path)

    async def new_termination_log(self, uid: str, container: str) -> str:
        """An empty file that anybody may write into."""
        path = self._pods / uid / "containers" / container / secrets.token_hex(4)
        await _threaded(_write, path, "", 0o666)
        return str(path)

    async def read_end(self, path: str, limit_bytes: int) -> str:
        """The last bytes of a file; if it cannot be read, why not."""
        return await _threaded(_read, Path(path), limit_bytes)

    async def make_log_directory(self, directory: str, container: str = "") -> None:
        """Make a log directory."""
        await _threaded((Path(directory) / container).mkdir, mode=0o755, parents=True, exist_ok=True)

    async def highest_log(self, directory: str, container: str) -> int | None:
        """The highest restart count that a log is left of."""
        return await _threaded(containerlogs.highest, Path(directory) / container)

    async def link_log(self, log_path: str, name: str) -> None:
        """Make the log known to collectors."""
        await _threaded(containerlogs.link, Path(log_path), self._links / name)

    async def remove_logs(self, log_path: str, name: str) -> None:
        """Remove a run's logs and their link."""
        await _threaded(containerlogs.remove, Path(log_path), self._links / name)

    async def tail(self, log_path: str, lines: int, limit_bytes: int) -> str:
        """The last lines that a container wrote."""
        return await _threaded(containerlogs.tail, Path(log_path), lines, limit_bytes)


def _entries(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError):
        yield from directory.iterdir()


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    path.write_text(text)
    path.chmod(mode)


def _read_inside(volume: Path, path: str, limit_bytes: int) -> bytes | None:
    try:
        with os.fdopen(beneath.open_within(volume, path.split("/")), "rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError:
        return None
    return data if len(data) <= limit_bytes else None


def _read(path: Path, limit_bytes: int) -> str:
    try:
        with os.fdopen(beneath.open_plain(path), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit_bytes))
            return file.read(limit_bytes).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Error on reading termination log {path}: {error.strerror}"


async def _threaded(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except OSError as error:
        raise HostError(
            f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        ) from error
    except ValueError as error:
        raise HostError(str(error)) from error
