"""The committed messages are what the proto file says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flexlet.adapters.cri import _gen

ROOT = Path(__file__).parents[3]


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    """Whoever changes cri.proto generates the messages again and commits both."""
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools")
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([ROOT / "tools/cri/generate", tmp_path], check=True, env=environment)
    committed = Path(next(iter(_gen.__path__)))
    fresh = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert fresh == {name: (committed / name).read_bytes() for name in fresh}
    assert sorted(fresh) == ["cri_pb2.py", "cri_pb2.pyi"]
