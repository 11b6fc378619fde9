"""The memory manager (policy Static): which NUMA nodes the memory of a Guaranteed container comes from."""
