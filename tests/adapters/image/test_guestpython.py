"""What is compiled again, and what is taken over."""

from pathlib import Path

import pytest

from flexlet.adapters.image import guestpython
from flexlet.errors import HostError


def test_only_changed_sources_are_compiled_again(tmp_path: Path) -> None:
    """Equal sources share what was compiled from them; changed, new and never compiled ones are left."""
    before, package = tmp_path / "before", tmp_path / "package"
    for folder in (before, package):
        for name in ("equal.py", "changed.py", "broken.py"):
            (folder / "inner").mkdir(parents=True, exist_ok=True)
            (folder / "inner" / name).write_text(name)
    for name in ("equal", "changed"):
        compiled = guestpython.compiled(before / f"inner/{name}.py")
        compiled.parent.mkdir(exist_ok=True)
        compiled.write_text(f"{name} compiled")
    (package / "inner/changed.py").write_text("other")
    (package / "new.py").touch()
    left = guestpython.reuse(package, before)
    assert left == [package / "inner/broken.py", package / "inner/changed.py", package / "new.py"]
    assert (package / "inner/__pycache__/equal.cpython-313.pyc").read_text() == "equal compiled"


def test_a_python_that_compiles_nothing_is_not_believed(tmp_path: Path) -> None:
    """Files that do not compile are tolerated, but not all of them."""
    loader = tmp_path / "python/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    loader.write_text("#!/bin/sh\nexit 1\n")
    loader.chmod(0o755)
    with pytest.raises(HostError, match="compiles nothing"):
        guestpython.compile_all(tmp_path, [tmp_path / "a.py"], tmp_path)
