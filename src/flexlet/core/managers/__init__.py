"""The resource managers of a node: which CPUs and which NUMA memory belong to which container.

All of it is pure: a state goes in with a question, another state or a refusal comes out. `cpu` and `memory` are
the two managers, `topology` makes them agree on NUMA nodes; the modules here are what the rest of the agent calls.
"""
