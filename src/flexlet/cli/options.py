"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

kubeconfig_option = click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False),
    help="Which cluster to talk to; the default is $KUBECONFIG, else ~/.kube/config.",
)
vm_config_option = click.option(
    "--vm-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The FlexletConfig file of the controllers; without it defaults are assumed, and told.",
)


def namespace_option(of: str) -> Callable[[_Function], _Function]:
    """Where the thing lies that a command is about."""
    return click.option("--namespace", "-n", default="default", show_default=True, help=f"The {of}'s namespace.")


def deadline_option(default_s: float, what: str) -> Callable[[_Function], _Function]:
    """How long a wish may wait before it counts as refused."""
    return click.option(
        "--deadline",
        "deadline_s",
        type=click.FloatRange(0),
        default=default_s,
        show_default=True,
        help=f"Seconds to wait for {what}, before it counts as refused.",
    )


def waiting_options(function: _Function) -> _Function:
    """Options of commands that show progress."""
    for option in (
        click.option(
            "--timeout",
            "patience_s",
            type=click.FloatRange(0, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds to wait until it is done or refused.",
        ),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Show progress until it is done."),
    ):
        function = option(function)
    return function
