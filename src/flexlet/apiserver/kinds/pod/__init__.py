"""Pods: what the API server fills in, refuses and lets change.

One file per subject. `kind` puts the pieces together; `strategy` is the main path and `subresources` the others;
`defaults`, `spec` (the validators of a pod spec), `update`, `resize` hold the rules; `table` and `warnings` are
what people see. Everything works on plain JSON dicts and follows Kubernetes 1.36.3: same field paths, same
reasons, same words, in upstream's order. Pod templates of workloads use the same spec rules through
`kinds.template`.
"""
