"""Why the topology manager says no, in the kubelet's words."""

from typing import Final

from flexlet.core.managers.state import Refusal

NOT_ALIGNED: Final = Refusal("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
"""No NUMA nodes that the policy allows have all that is asked for."""
