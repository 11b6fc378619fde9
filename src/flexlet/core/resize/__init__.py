"""In-place resize on the node's side, container level and pod level, as pure functions.

Four states are kept apart: desired (spec), allocated (`allocation`), actuated (the same shape) and actual
(`readback`). Allocated and actuated are remembered in `checkpoint`. A wish goes through `pending`, which asks
`admit` (`infeasible`, `room`, `preemption`) in the order of `queue`; what is granted is turned into steps by
`actuation` (`targets`, `updates`, `podcgroup`, `safety`, `steps`). `conditions`, `events`, `metrics` and
`triggers` tell people and other parts about it.

Follows Kubernetes 1.36; where flexlet decides differently the module says so.
"""
