"""A pod as the node that runs it reads it: everything that decides how its containers are made and kept.

`flexlet.api.pod` is the small subset that all of flexlet computes with; the Structs here extend it, so whatever
takes a `Pod` takes a `NodePod`. They are apart because the API server converts every pod it is sent, and should
not pay for probes and volumes.
"""

from flexlet.api.nodepod.container import NodeContainer
from flexlet.api.nodepod.pod import NodePod, NodePodSpec, NodePodStatus

__all__ = ["NodeContainer", "NodePod", "NodePodSpec", "NodePodStatus"]
