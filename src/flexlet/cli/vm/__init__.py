"""``flexlet vm``: everything about virtual machines that is not their size.

One file a command; importing this package registers them all.
"""

from flexlet.cli.vm import console, migrate, plan, power
from flexlet.cli.vm.group import vm

__all__ = ["console", "migrate", "plan", "power", "vm"]
