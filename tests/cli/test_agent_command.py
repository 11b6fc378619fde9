import subprocess
import sys
from pathlib import Path

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
