"""Which packages go into the guest, and how they are laid out there."""

import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from flexlet.adapters.image import wheels
from flexlet.errors import HostError

PROJECT = """\
[project]
name = "flexlet"
dependencies = ["aiohttp>=3.14", "not-installed>=1; python_version < '3.0'", "PyYAML [c] ~= 6.0"]
optional-dependencies.fast = ["uvloop"]
optional-dependencies.slow = ["pytest"]
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A checkout's package folder."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path / "src/flexlet"


def test_pins_are_what_is_installed_here(source: Path) -> None:
    """All that is needed, in this host's versions; no extras but the fast one, nothing that is absent."""
    pins = wheels.pins(source)
    assert pins == {name: metadata.version(name) for name in pins}
    assert {"aiohttp", "yarl", "multidict", "pyyaml", "uvloop"} <= set(pins)
    assert {"not_installed", "pytest", "aiodns"} & set(pins) == set()


def test_an_installed_wheel_is_asked_for_its_requirements(tmp_path: Path) -> None:
    pins = wheels.pins(tmp_path / "site/flexlet")
    assert {"click", "msgspec", "markdown_it_py"} <= set(pins)
    assert {"pytest", "mypy"} & set(pins) == set()


def test_wheels_at_hand_need_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is matched as an installer does, whatever its separators and case."""
    monkeypatch.setattr(wheels, "_pip", lambda: ["false"])
    names = ["qemu_qmp-0.0.6-py3-none-any.whl", "PyYAML-6.0.3-cp313-cp313-manylinux_2_28_x86_64.whl"]
    for name in names:
        (tmp_path / name).touch()
    found = wheels.fetch({"qemu.qmp": "0.0.6", "pyyaml": "6.0.3"}, tmp_path, print)
    assert [path.name for path in found] == names
    said: list[str] = []
    with pytest.raises(HostError, match=r"pyyaml==6\.0\.4"):
        wheels.fetch({"qemu.qmp": "0.0.6", "pyyaml": "6.0.4"}, tmp_path, said.append)
    assert said == ["downloading 1 Python packages for the guest"]


def test_unpacking_follows_the_wheel_format(tmp_path: Path) -> None:
    """Modules from the root, purelib and platlib; scripts and headers are left out."""
    path = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in ("a/__init__.py", "a-1.data/purelib/b.py", "a-1.data/platlib/c/d.so", "a-1.data/scripts/run"):
            wheel.writestr(name, name)
    wheels.unpack([path], tmp_path / "site")
    files = {
        str(file.relative_to(tmp_path / "site")): file.read_text() for file in (tmp_path / "site").rglob("*.*")
    }
    assert files == {
        "a/__init__.py": "a/__init__.py",
        "b.py": "a-1.data/purelib/b.py",
        "c/d.so": "a-1.data/platlib/c/d.so",
    }
