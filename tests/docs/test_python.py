"""The Python programs of the pages run against a cluster as the pages describe it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import servers
from tests.docs import pages
from tests.servers import Running

CLIENTS = pages.DOCS / "howto/use-with-kubectl-and-clients.md"
PRINTED = {
    "from kubernetes import": "grows holds 2 CPUs\n",
    "import kr8s": "['small']\n",
    "from lightkube import": "runs\n",
    "import subprocess": "flexlet is up\n",
    '"""grower.py"""': "",
}
"""What each program prints in the end, by how it begins."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.flexlet(tmp_path_factory.mktemp("cluster"), "up", "--node", "hollow=3") as running:
        yield running


def test_every_program_is_known() -> None:
    assert len(pages.blocks(CLIENTS, "python")) == len(PRINTED)


@pytest.mark.slow
@pytest.mark.parametrize("program", pages.blocks(CLIENTS, "python"), ids=lambda text: text.splitlines()[0])
def test_programs_run(program: str, cluster: Running, tmp_path: Path) -> None:
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    environment["PATH"] = f"{sys.prefix}/bin:{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    wanted = next(text for begin, text in PRINTED.items() if program.startswith(begin))
    assert (done.returncode, done.stdout.endswith(wanted)) == (0, True), done.stdout + done.stderr
