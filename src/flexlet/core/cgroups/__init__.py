"""What to write into cgroup v2 files: the arithmetic, not the writing.

From the top of the tree down: `root` (kubepods and the reserved cgroups), `tiers` (burstable, besteffort), `pods`,
`containers` (which go through the runtime) and `sandbox`. `cpu`, `hugetlb`, `memoryqos`, `oom` and `swap` hold one
rule each, `paths` the names, `settings` what the operator configured. Follows the kubelet of Kubernetes 1.36.3.

Everything is computed from allocated resources: callers put those into the spec of the Pod they pass.
"""
