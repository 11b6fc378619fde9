"""The audit log: who asked for what, and what came of it, as upstream's ``audit.k8s.io/v1`` writes it.

`policy` decides what is written of a request, `trail` is one request on its way, `sink` is the file and
its thread.
"""
