"""``flexlet get``: how big nodes, pods and VMs are.

One file a kind; importing this package registers them all.
"""

from flexlet.cli.get import nodes, pods, vms
from flexlet.cli.get.group import get

__all__ = ["get", "nodes", "pods", "vms"]
