"""A small shell, so that simulated containers can run the commands that real manifests have in them.

As much of POSIX sh as busybox images are used with in tests: lists, loops, conditions, subshells, background jobs,
traps, variables, arithmetic, redirections, and a handful of commands. Everything happens in simulated time and in
simulated files. A command that is not known is not found, as in a real shell, and so fails loudly.
"""

from flexlet.adapters.sim.shell.start import NotFound, body

__all__ = ["NotFound", "body"]
