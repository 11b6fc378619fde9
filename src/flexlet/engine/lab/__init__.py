"""Changing the size of a machine through its ports: the hypervisor, and commands in the guest."""
