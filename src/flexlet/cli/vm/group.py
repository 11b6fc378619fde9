"""The group itself, and the options that its commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flexlet.cli.options import kubeconfig_option

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group()
def vm() -> None:
    """Virtual machines (FlexVM): their consoles, power switches, moves and plans."""


def common_options(function: _Function) -> _Function:
    """Options of all commands about one machine."""
    for option in (
        kubeconfig_option,
        click.option("--namespace", "-n", default="default", show_default=True, help="The VM's namespace."),
    ):
        function = option(function)
    return function


def waiting_options(function: _Function) -> _Function:
    """Options of those that show progress."""
    for option in (
        click.option(
            "--timeout",
            "patience_s",
            type=click.FloatRange(0, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds to wait until it is done.",
        ),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Show progress until it is done."),
    ):
        function = option(function)
    return function
