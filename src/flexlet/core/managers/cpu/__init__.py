"""The CPU manager: whole CPUs for containers that asked for a whole number of them, the rest is shared.

`static` takes containers in and lets them go, `hints` tells the topology manager what is possible, `resync`
follows the machine, `validation` and `repair` compare the book with it at start, `files` reads and writes the
kubelet's state file, `options` checks what the operator wrote. `packing` and `distribution` choose the CPUs.
"""
