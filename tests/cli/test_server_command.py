"""``flexlet server`` as a process: ready line, kubeconfig, clean stop, one server per data directory."""

import signal
import ssl
import subprocess
import sys
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from flexlet.cli.main import main; main()", "server"]


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its first line."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def test_a_server_says_where_it_is_and_stops_when_told(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    arguments = (
        "--data",
        str(tmp_path / "data"),
        "--listen",
        "127.0.0.1:0",
        "--write-kubeconfig",
        str(kubeconfig),
    )
    with running(*arguments) as (process, line):
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        assert cluster["server"] in line
        assert kubeconfig.stat().st_mode & 0o077 == 0
        second = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=30)
        assert second.returncode == 1
        assert second.stdout == ""
        assert "another process has it open" in second.stderr
        assert _ready(cluster, user, tmp_path) == "ok"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=10)
        assert (process.returncode, output, errors) == (0, "", "")


def test_wrong_gates_and_addresses_are_explained(tmp_path: Path) -> None:
    for option, value, message in (
        ("--feature-gates", "Nope=true", "unknown feature gate Nope; flexlet knows"),
        ("--listen", "nowhere", "cannot listen on 'nowhere': write HOST:PORT"),
    ):
        result = subprocess.run(
            [*COMMAND, "--data", str(tmp_path), option, value],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert (result.returncode, result.stdout) == (1, "")
        assert message in result.stderr


def _ready(cluster: dict[str, str], user: dict[str, str], directory: Path) -> str:
    context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    pem = directory / "client.pem"
    pem.write_bytes(b64decode(user["client-certificate-data"]) + b64decode(user["client-key-data"]))
    context.load_cert_chain(pem)
    with urllib.request.urlopen(f"{cluster['server']}/readyz", context=context) as response:  # noqa: S310 our own server
        text: str = response.read().decode()
    return text
