"""``flexlet controllers`` as a process: what it needs, where its metrics are, a clean stop."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.test_server_command import running as server

pytestmark = pytest.mark.slow

FLEXLET = [sys.executable, "-c", "from flexlet.cli.main import main; main()"]


def test_it_asks_for_its_kind_and_then_serves_metrics_until_told_to_stop(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with server("--data", str(tmp_path / "data"), "--write-kubeconfig", str(kubeconfig)):
        command = [*FLEXLET, "controllers", "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0"]
        early = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        assert early.returncode == 1
        assert "the cluster has no NodeSize kind" in early.stderr
        _install(kubeconfig)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"flexlet controllers run; metrics at (http://127\.0\.0\.1:\d+/metrics)\n", line)
            assert found is not None
            with urllib.request.urlopen(found[1], timeout=10) as answer:  # noqa: S310 our own page
                page = answer.read()
            assert b"# TYPE flexlet_balloon_resize_seconds histogram\n" in page
            assert b"\nflexlet_vm_invariant_violations_total 0\n" in page
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=10)
            assert process.returncode == 0


def _install(kubeconfig: Path) -> None:
    code = (
        "import asyncio, sys, pathlib\n"
        "from flexlet.adapters.kube import kubeconfig\n"
        "from flexlet.adapters.kube.client import HttpCluster\n"
        "from flexlet.apps import nodesize, vms\n"
        "async def main():\n"
        "    async with HttpCluster(kubeconfig.load(pathlib.Path(sys.argv[1]))) as cluster:\n"
        "        await nodesize.install(cluster)\n"
        "        await vms.install(cluster)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", code, str(kubeconfig)], check=True, timeout=30)
