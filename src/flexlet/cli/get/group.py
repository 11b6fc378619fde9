"""The group itself."""

import click


@click.group()
def get() -> None:
    """Show how big nodes, pods and VMs are, and what is under way with them."""
