"""What the server in the guest relies on: the standard library, and the names of its ports."""

import subprocess
import sys
from pathlib import Path

from flexlet.adapters.guest.server import siblings

SOURCES = Path(__file__).parents[3] / "src"


def test_it_needs_nothing_but_python() -> None:
    """It is the first thing that runs in a guest; no package is looked for, and none is loaded for nothing."""
    script = (
        f"import sys; sys.path.insert(0, {str(SOURCES)!r}); import flexlet.adapters.guest.server;"
        " print(sorted(name for name in sys.modules if name.startswith('flexlet')), 'asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    modules = ["flexlet", "flexlet.adapters", "flexlet.adapters.guest"]
    modules += [f"flexlet.adapters.guest.{name}" for name in ("command", "server", "wire")]
    assert done.stdout == f"{modules} False\n"


def port(folder: Path, device: str, name: str) -> None:
    (folder / device).mkdir()
    (folder / device / "name").write_text(f"{name}\n")


def test_a_port_is_served_with_its_numbered_siblings(tmp_path: Path) -> None:
    port(tmp_path, "vport3p2", "flexlet.exec.1")
    port(tmp_path, "vport3p1", "flexlet.exec")
    port(tmp_path, "vport3p3", "org.qemu.guest_agent.0")
    port(tmp_path, "vport3p4", "flexlet.execute")
    assert siblings("/dev/virtio-ports/flexlet.exec", tmp_path) == ["/dev/vport3p1", "/dev/vport3p2"]


def test_without_sysfs_the_path_itself_is_served(tmp_path: Path) -> None:
    assert siblings("/dev/virtio-ports/flexlet.exec", tmp_path) == ["/dev/virtio-ports/flexlet.exec"]
