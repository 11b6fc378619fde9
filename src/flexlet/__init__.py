"""flexlet: Kubernetes nodes, pods and VMs that change size in place."""

__version__ = "0.1.0"
