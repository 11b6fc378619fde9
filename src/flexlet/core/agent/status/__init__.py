"""What the API is told about a pod: its whole status, when that is news, and how to send it.

`render` makes the status from a record, `same` says whether two of them differ, `patch` turns one into the body
of a strategic merge patch. Follows Kubernetes 1.36.3 (kubelet `status` and `kubelet_pods`).
"""

from flexlet.core.agent.status.difference import patch, same
from flexlet.core.agent.status.rendering import render

__all__ = ["patch", "render", "same"]
