"""How big nodes and pods are for people: what is there, what is taken, what is under way.

Computed from the API's objects alone, so the same on any cluster: `nodes` and `pods` are the figures, `words` how
they are written, `node` everything about one node.
"""
