"""The Pod Security Standards: how far a pod may reach into its node, by level and version.

`policy` reads a namespace's labels; `baseline` and `restricted` hold the checks, each a function of the pod that
answers with a Violation or None; `evaluate` picks the checks of a level and puts their findings into words.
Follows ``k8s.io/pod-security-admission`` of Kubernetes 1.36.3; checks of annotations that only mattered before
1.19 are left out. Works on plain objects: most of these fields are read nowhere else.
"""
