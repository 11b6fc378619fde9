"""The launcher's image: layers by how often they change, each made once."""

import tarfile
from pathlib import Path

import msgspec
import pytest

import flexlet
from flexlet.adapters.image import bootstrap, guestpython, launcher, layout, rootfs, tools, wheels
from flexlet.adapters.image.launcher import LauncherRecipe
from flexlet.core.vm.settings import IMAGE


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bootstrap.Userland]:
    """A host on which Debian is one file, wheels are one module, and the guest's Python compiles at once."""
    asked: list[bootstrap.Userland] = []

    def run(userland: bootstrap.Userland, archive: Path, _progress: object) -> None:
        asked.append(userland)
        (tmp_path / "status").write_text("Package: qemu-system-x86\nVersion: 1:10.0\n")
        with tarfile.open(archive, "w") as tar:
            tar.add(tmp_path / "status", "./var/lib/dpkg/status")

    def unpack(_wheels: object, site: Path) -> None:
        site.mkdir(exist_ok=True)
        (site / "msgspec.py").write_text("")

    monkeypatch.setattr(tools, "require", lambda: None)
    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(rootfs, "keep_python", lambda *_: None)
    monkeypatch.setattr(wheels, "pins", lambda _: {"msgspec": "1"})
    monkeypatch.setattr(wheels, "fetch", lambda *_: [])
    monkeypatch.setattr(wheels, "unpack", unpack)
    monkeypatch.setattr(guestpython, "compile_all", lambda *_: None)
    source = tmp_path / "src/flexlet"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("first = 1")
    monkeypatch.setattr(flexlet, "__file__", str(source / "__init__.py"))
    return asked


def files(found: layout.Blob) -> dict[str, int]:
    """Files of a layer and their modes."""
    with found.open() as data, tarfile.open(fileobj=data) as tar:
        return {member.name: member.mode for member in tar if member.isreg()}


def test_new_code_makes_one_new_layer(tmp_path: Path, installed: list[bootstrap.Userland]) -> None:
    first = launcher.image(tmp_path / "store", print)
    assert first.names == (IMAGE,)
    assert [files(each) for each in first.layers] == [
        {"var/lib/dpkg/status": 0o644},
        {"opt/flexlet/site/msgspec.py": 0o644},
        {"opt/flexlet/site/flexlet/__init__.py": 0o644, "usr/bin/flexlet": 0o755},
    ]
    assert [each.digest for each in first.layers] == [layout.blob(_path(each)).digest for each in first.layers]
    (tmp_path / "src/flexlet/__init__.py").write_text("second = 2")
    second = launcher.image(tmp_path / "store", print)
    assert second.layers[:2] == first.layers[:2]
    assert second.layers[2].digest != first.layers[2].digest
    assert [each.what for each in installed] == ["the launcher image"]


def test_the_program_finds_flexlet_whoever_starts_it(tmp_path: Path, installed: list[bootstrap.Userland]) -> None:
    """Exec into a launcher has no variables of ours."""
    found = launcher.image(tmp_path, print)
    with tarfile.open(_path(found.layers[2])) as tar:
        program = tar.extractfile("usr/bin/flexlet")
        assert program is not None
        text = program.read().decode()
    assert "PYTHONPATH=/opt/flexlet/site" in text
    assert found.settings["Entrypoint"] == ["/usr/bin/flexlet"]
    assert len(installed) == 1


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(LauncherRecipe)])
def test_every_ingredient_changes_the_name(field: str) -> None:
    changed = msgspec.structs.replace(LauncherRecipe(), **{field: ("other",)})
    assert launcher.digest(changed) != launcher.digest(LauncherRecipe())


def _path(each: layout.Blob) -> Path:
    assert isinstance(each.data, Path)
    return each.data
