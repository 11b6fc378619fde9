"""flexlet's dependencies as wheels for the guest's Python, in the versions that run here.

Separate because it answers its own question: which distributions, in which versions. A requirement counts if it is
installed on this host (the installer has judged the markers), so host and guest run the same releases; only
binaries are taken, for CPython 3.13 on x86-64, kept in the cache so that a later layer needs no network.
"""

import re
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from flexlet.adapters.image import program
from flexlet.adapters.image.progress import Progress
from flexlet.errors import ConfigError

_NEWEST_GLIBC = 41
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(_NEWEST_GLIBC, 4, -1)]
_TARGET = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.13"]
_TARGET += [f"--abi={abi}" for abi in ("cp313", "abi3", "none")]
_TARGET += [f"--platform={name}" for name in (*_PLATFORMS, "manylinux2014_x86_64", "manylinux1_x86_64")]
_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^]]*)])?[^;]*(?:;(?P<marker>.*))?")


def pins(source: Path) -> dict[str, str]:
    """Name and version of every distribution that flexlet needs; `source` is the package's folder."""
    found: dict[str, str] = {}
    waiting = _declared(source)
    while waiting:
        name, extras = waiting.pop()
        version = _installed(name)
        if version and name not in found:
            found[name] = version
            waiting += _wanted(metadata.requires(name) or (), extras)
    return dict(sorted(found.items()))


def fetch(wanted: Mapping[str, str], folder: Path, progress: Progress) -> list[Path]:
    """The wheels of these versions, downloaded into `folder` if they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    absent = [f"{name}=={version}" for name, version in wanted.items() if not _wheel(folder, name, version)]
    if absent:
        progress(f"downloading {len(absent)} Python packages for the guest")
        _download(absent, folder)
    return [path for name, version in wanted.items() if (path := _wheel(folder, name, version))]


def unpack(wheels: Iterable[Path], site: Path) -> None:
    """Lay the wheels out as an installer would; scripts and headers are not needed."""
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            for member in wheel.infolist():
                _extract(wheel, member, site)


def normal(name: str) -> str:
    """A distribution's name as its wheel is called."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _declared(source: Path) -> list[tuple[str, frozenset[str]]]:
    """What flexlet asks for: a checkout's own words, since what was installed from it may be older."""
    project = source.parents[1] / "pyproject.toml"
    if project.exists():
        table = tomllib.loads(project.read_text())["project"]
        fast = table.get("optional-dependencies", {}).get("fast", [])
        return _wanted([*table["dependencies"], *fast], frozenset())
    return _wanted(metadata.requires("flexlet") or (), frozenset({"fast"}))


def _wanted(requirements: Iterable[str], extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    wanted = []
    for found in filter(None, map(_REQUIREMENT.match, requirements)):
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", found["marker"] or "")
        if extra is None or extra[1] in extras:
            asked = frozenset(part.strip() for part in (found["extras"] or "").split(",") if part.strip())
            wanted.append((normal(found["name"]), asked))
    return wanted


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _wheel(folder: Path, name: str, version: str) -> Path | None:
    return next((path for path in folder.glob("*.whl") if _is(path, name, version)), None)


def _is(path: Path, name: str, version: str) -> bool:
    its_name, its_version, *_ = path.name.split("-")
    return (normal(its_name), its_version) == (normal(name), version)


def _download(pinned: list[str], folder: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", f"--dest={folder}"]
    program.run([*_pip(), "download", *options, *_TARGET, *pinned])


def _pip() -> list[str]:
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if pip := program.find("pip3") or program.find("pip"):
        return [pip]
    raise ConfigError("pip is needed to download Python packages for the guest: install python3-pip")


def _extract(wheel: zipfile.ZipFile, member: zipfile.ZipInfo, site: Path) -> None:
    top, _, rest = member.filename.partition("/")
    if top.endswith(".data"):
        scheme, _, inner = rest.partition("/")
        if scheme not in {"purelib", "platlib"}:
            return
        member.filename = inner
    if member.filename and not member.is_dir():
        wheel.extract(member, site)
