"""Pods that a node runs from files of its own, with or without a cluster around it.

`pods` makes a pod of a manifest, `household` says which of them come and go, `mirrors` keeps for each of them an
image in the API, where people can see it and nobody can change it. Follows cri.md §6.4 and Kubernetes 1.36.3's
``pkg/kubelet/config`` and ``pkg/kubelet/pod``.
"""
