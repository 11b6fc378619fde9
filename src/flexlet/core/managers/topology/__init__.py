"""The topology manager: makes the other managers agree on the NUMA nodes of a container."""
