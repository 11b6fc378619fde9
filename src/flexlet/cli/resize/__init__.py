"""``flexlet resize``: ask for another size, and see what becomes of it.

One file a kind; importing this package registers them all. Exit code 0 done, 1 failed, 3 refused with the reason.
"""

from flexlet.cli.resize import node, pod, vm
from flexlet.cli.resize.group import resize

__all__ = ["node", "pod", "resize", "vm"]
