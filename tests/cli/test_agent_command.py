import re
import subprocess
import sys
from pathlib import Path

import pytest

from flexlet.cli.agent import agent
from flexlet.errors import ConfigError

SOURCES = Path(__file__).parents[2] / "src"
SCRIPT = """
import sys
from flexlet.cli.agent import agent
try:
    agent(["--kubeconfig", "/nowhere/kubeconfig", "--root-dir", "/nowhere"])
except BaseException as error:
    print(type(error).__name__)
heavy = ("flexlet.apiserver", "flexlet.testing", "flexlet.adapters.sim", "flexlet.adapters.qemu", "cryptography")
print([name for name in sys.modules if name in heavy])
print("flexlet.engine.agent.agent" in sys.modules)
"""


def test_the_agent_loads_nothing_of_the_cluster_around_it() -> None:
    """Every module stays in memory for as long as the node runs; the API server alone is a third of the agent."""
    command, environment = [sys.executable, "-c", SCRIPT], {"PYTHONPATH": str(SOURCES)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == ["ConfigError", "[]", "True"]


def test_a_share_that_cannot_be_read_is_told() -> None:
    with pytest.raises(ConfigError, match=re.escape("cannot read share '5/4': write i/N")):
        agent.main(["--kubeconfig", "/nowhere/kubeconfig", "--share", "5/4"], standalone_mode=False)


@pytest.mark.parametrize("shared", [["--share", "1/2"], ["--host-ledger", "/nowhere/ledger"]])
def test_agents_that_share_a_host_do_not_give_the_same_cpus_away(shared: list[str], tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, cpuManagerPolicy: static, "
        "reservedSystemCPUs: '0'}"
    )
    given = ["--kubeconfig", "/nowhere/kubeconfig", "--config", str(config), "--root-dir", str(tmp_path), *shared]
    with pytest.raises(ConfigError, match="set cpuManagerPolicy none and memoryManagerPolicy None"):
        agent.main(given, standalone_mode=False)
