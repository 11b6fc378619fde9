"""The code layer's name follows from the code."""

from pathlib import Path

from flexlet.adapters.image import layer


def test_the_name_changes_with_the_code_and_with_nothing_else(tmp_path: Path) -> None:
    """Contents, names, versions and the image count; what Python compiled here does not."""
    source = tmp_path / "flexlet"
    (source / "core/__pycache__").mkdir(parents=True)
    (source / "core/a.py").write_text("a = 1")
    pins = {"aiohttp": "3"}
    image = Path("/images/one")
    first = layer.digest(source, pins, image)
    (source / "core/__pycache__/a.pyc").touch()
    assert layer.digest(source, pins, image) == first
    names = {
        first,
        layer.digest(source, {"aiohttp": "4"}, image),
        layer.digest(source, pins, Path("/images/two")),
    }
    (source / "core/a.py").write_text("a = 2")
    names.add(layer.digest(source, pins, image))
    (source / "core/a.py").rename(source / "core/b.py")
    names.add(layer.digest(source, pins, image))
    assert len(names) == 5
