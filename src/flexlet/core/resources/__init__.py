"""What a pod asks for and may use, as numbers: defaulting, effective totals, QoS class, fit.

One file per question. `names` and `amounts` are the arithmetic of resource lists; `defaults` completes what a
client wrote; `effective` adds a pod up from its spec; `statusaware` does so during a resize; `qos` names the
class; `fit` compares with what a node has left. Follows Kubernetes 1.36.3 (`component-helpers/resource`, KEP-753
sidecars, KEP-2837 pod-level resources, KEP-1287 and KEP-5419 in-place resize) with those features on.

Resource lists are plain dicts of Quantity. A missing name means absent: zero in a sum, unlimited as a limit.
"""
