"""The group itself, and the options and values that its commands share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from flexlet.cli.options import kubeconfig_option, waiting_options
from flexlet.cli.output import output_option

if TYPE_CHECKING:
    from flexlet.api.quantity import Quantity

REFUSED: Final = 3
FAILED: Final = 1

_Function = TypeVar("_Function", bound=Callable[..., Any])


class QuantityType(click.ParamType["Quantity"]):
    """An amount such as ``8``, ``500m`` or ``32Gi``."""

    name = "quantity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Quantity":
        """A Kubernetes quantity that is not negative."""
        from flexlet.api.quantity import ZERO, Quantity
        from flexlet.errors import InputError

        if isinstance(value, Quantity):
            return value
        try:
            amount = Quantity.parse(str(value))
        except InputError as error:
            self.fail(f"{value!r} is not an amount such as 8, 500m or 32Gi: {error.message}", param, ctx)
        if amount < ZERO:
            self.fail(f"{value!r} is less than nothing", param, ctx)
        return amount


@click.group()
def resize() -> None:
    """Ask for another size of a node, a pod or a VM; nothing restarts, nothing is killed to make room."""


def common_options(function: _Function) -> _Function:
    """Options of all kinds."""
    for option in (
        output_option,
        kubeconfig_option,
        click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing."),
        waiting_options,
    ):
        function = option(function)
    return function
