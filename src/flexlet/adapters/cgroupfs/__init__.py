"""The kernel's cgroup v2 tree.

`tree` reads and writes it, `removal` empties and removes, `check` looks whether it is there at all, `oomscores`
writes what a cgroup cannot hold. Follows the kernel's cgroup-v2 document.

What must stay true: only paths below the mount point are touched, and nothing that can stall (limits on memory,
making and removing cgroups) runs in the event loop.
"""
