"""LimitRange as arithmetic: defaults for containers that say nothing, bounds on what they may say.

`defaults` completes a pod as a client wrote it; `bounds` judges the result. Follows the LimitRanger plugin of
Kubernetes 1.36.3.
"""
