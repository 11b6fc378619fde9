"""``flexlet lab``: machines to try things on.

One file per subject: `machines` (create, list, start, stop, delete), `sizes` (plug, unplug), `inside` (exec,
logs, console), `images` (image build). Importing this package registers them all; what they need is imported
when they run.
"""

from flexlet.cli.lab import images, inside, machines, sizes
from flexlet.cli.lab.group import lab

__all__ = ["images", "inside", "lab", "machines", "sizes"]
