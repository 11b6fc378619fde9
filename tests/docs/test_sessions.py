"""What pages tell people to type is typed, and prints what the pages show."""

import os
import re
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import servers
from tests.cluster import kubectl as real
from tests.docs import console, pages
from tests.docs.console import Step

from flexlet.adapters import image

STARTED_HERE = ("git clone", "make up", "flexlet up", "flexlet server")
"""Commands that the tests do not type: they start the cluster themselves."""
ON_A_MACHINE = (
    "make demo",
    "flexlet agent",
    *(f"flexlet lab {verb}" for verb in ("create", "plug n1", "unplug n1", "exec", "list", "delete", "image")),
    ".venv/bin/flexlet lab plug vm",
    "kubectl exec ",
)
"""Commands that need a real node or QEMU; `test_images_of_the_lab` and the suites on machines type them."""
KUBECTL = real.find("built") or real.find("installed")
TOOLS = image.missing_tools()
OURS = ("flexlet ", ".venv/bin/flexlet ", "export ")


@contextmanager
def clone(directory: Path) -> Iterator[dict[str, str]]:
    """A directory that looks like a clone in which ``make up`` runs; gives the environment for commands in it."""
    server = directory / "server"
    server.mkdir()
    with servers.flexlet(server, "up", "--node", "hollow=3") as running:
        (directory / "docs").symlink_to(pages.DOCS)
        (directory / ".venv").symlink_to(sys.prefix)
        (directory / ".flexlet").mkdir()
        (directory / ".flexlet/kubeconfig").symlink_to(running.kubeconfig)
        programs = directory / ".flexlet/programs"
        programs.mkdir()
        if KUBECTL is not None:
            (programs / "kubectl").symlink_to(KUBECTL.path)
        path = f"{programs}:{sys.prefix}/bin:{os.environ['PATH']}"
        yield {**os.environ, "PATH": path, "KUBECONFIG": str(running.kubeconfig)}


def session(name: str) -> list[Step]:
    return list(console.steps((pages.ROOT / name).read_text()))


SESSIONS = [name for name in pages.NAMES if session(name)]


def typed(name: str) -> list[Step]:
    steps = session(name)
    return [step for step in steps if not step.command.startswith((*STARTED_HERE, *ON_A_MACHINE))]


def disagreements(wanted: list[Step], directory: Path) -> list[str]:
    with clone(directory) as environment:
        ended = console.run(wanted, directory, environment)
    assert [one.step for one in ended] == wanted
    return [text for one in ended if (text := one.disagreement())]


@pytest.mark.slow
@pytest.mark.parametrize("name", SESSIONS)
def test_flexlets_own_commands_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """They need no kubectl, so they are always run."""
    own = [step for step in typed(name) if step.command.startswith(OURS)]
    if any(not step.command.startswith("export ") for step in own):
        assert disagreements(own, tmp_path) == []


@pytest.mark.cluster
@pytest.mark.skipif(KUBECTL is None, reason=real.NEED)
@pytest.mark.parametrize("name", SESSIONS)
def test_every_command_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """The whole session, kubectl's part included."""
    assert disagreements(typed(name), tmp_path) == []


def test_nothing_that_the_first_suite_types_needs_more_than_python() -> None:
    """What it types of flexlet's own runs on a machine without QEMU, mmdebstrap and containerd."""
    needy = re.compile(r"flexlet (agent|demo|lab (?!plug hollow-|unplug hollow-))")
    own = [step.command for name in SESSIONS for step in typed(name) if step.command.startswith(OURS)]
    assert [command for command in own if needy.search(command)] == []


@pytest.mark.vm
@pytest.mark.timeout(1200)
@pytest.mark.skipif(bool(TOOLS), reason=f"needs the Debian packages {', '.join(TOOLS)}: `make lab-tools`")
def test_images_of_the_lab(tmp_path: Path) -> None:
    """What pages tell to build is built."""
    wanted = [step for name in SESSIONS for step in session(name) if step.command.startswith("flexlet lab image")]
    assert [step.command for step in wanted] == ["flexlet lab image launcher vm-launcher.tar"]
    environment = {**os.environ, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    ended = console.run(wanted, tmp_path, environment, patience_s=1100)
    assert [text for one in ended if (text := one.disagreement())] == []
    assert tarfile.is_tarfile(tmp_path / "vm-launcher.tar")
