"""The group itself, and the options that its commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flexlet.cli.options import kubeconfig_option, namespace_option

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group()
def vm() -> None:
    """Virtual machines (FlexVM): their consoles, power switches, moves and plans."""


def common_options(function: _Function) -> _Function:
    """Options of all commands about one machine."""
    return kubeconfig_option(namespace_option("VM")(function))
