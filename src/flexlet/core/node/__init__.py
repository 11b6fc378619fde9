"""Being a node of a cluster: the Node object, its heartbeat, its Lease and what people are told about it.

`facts` is what the node knows of itself, `status` renders it on top of what the API has, `patch` finds the
difference, and `decider` decides when which of it is sent. Nothing on the Node that others own is touched: taints
and labels of an existing Node, extended resources, conditions of other agents. Follows cri.md §6 and Kubernetes
1.36.3's ``kubelet_node_status.go``.
"""
