"""The scripts that run in the guest, as far as they can be judged outside of it."""

import re
import subprocess
from pathlib import Path

import pytest

from flexlet.adapters import image

FILES = Path(image.__file__).parent / "files"
SCRIPTS = sorted(
    path
    for path in FILES.rglob("*")
    if path.is_file() and not path.name.startswith(("inittab", "cni.", "containerd."))
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse(path: Path) -> None:
    said = subprocess.run(["sh", "-n", path], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("inittab", ["inittab", "inittab.seed"])
def test_init_starts_scripts_that_exist(inittab: str) -> None:
    text = (FILES / "guest" / inittab).read_text()
    started = re.findall(r"^::\w+:/opt/flexlet/guest/(\w+)", text, re.MULTILINE)
    assert len(started) == len([line for line in text.splitlines() if not line.startswith("#")])
    assert {name for name in started if not (FILES / "guest" / name).is_file()} == set()


def test_services_are_known_to_the_service_script() -> None:
    """Every service that init starts has an arm in `service` and a cgroup made by `boot`."""
    services = re.findall(r"guest/service (\w+)", (FILES / "guest/inittab").read_text())
    arms = re.findall(r"^(\w+)\)", (FILES / "guest/service").read_text(), re.MULTILINE)
    made = re.findall(r"system/(\w+)", (FILES / "guest/boot").read_text())
    assert services == ["guest", "containerd", "agent"] == arms
    assert set(services) < set(made)
