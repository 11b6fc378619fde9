"""The size of a node as a wish: a balloon pod takes or gives back what workloads shall not or may use.

`objects` is the NodeSize kind, `names` every label, annotation and taint. `view` says how big a node is for whom,
`step` what its balloons need next, `decider` does it for all nodes. Nothing but the API is remembered: a
controller that dies between any two deeds goes on from the NodeSize's status and from what the balloon says.
"""
