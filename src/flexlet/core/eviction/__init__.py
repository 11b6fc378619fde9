"""Ending pods before the node runs dry: memory first, then disk and processes.

`signals` says how much is left of what, `watch` when a threshold is crossed and for how long the node is under
pressure, `ranking` which pod pays, `storage` which pods use more local storage than they may, `messages` how it is
told, and `evictor` puts it together. Follows Kubernetes 1.36.3's ``pkg/kubelet/eviction``: at most one pod at a
time, and then a look whether that was enough. Refusing pods while under pressure is part of admission.
"""
