"""``flexlet agent``: this host as a node of a cluster.

Wires the real adapters to the agent: CRI, cgroup v2, /proc and /sys, the API over HTTPS, the endpoint. What cannot
work is said before anything is touched: cgroup v1, swap, a runtime that does not answer, broken checkpoints.
"""

from flexlet.apps.agent.options import AgentOptions, configuration
from flexlet.apps.agent.running import agent, run_agent

__all__ = ["AgentOptions", "agent", "configuration", "run_agent"]
