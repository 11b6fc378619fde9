"""The group itself, and the options that its commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

REFUSED = 3

_Function = TypeVar("_Function", bound=Callable[..., Any])


class BytesType(click.ParamType[int]):
    """A size such as ``8Gi``."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes of a Kubernetes quantity."""
        from flexlet.api.quantity import Quantity
        from flexlet.errors import InputError

        if isinstance(value, int):
            return value
        try:
            return Quantity.parse(str(value)).value
        except InputError as error:
            self.fail(f"{value!r} is not a size such as 8Gi: {error.message}", param, ctx)


@click.group()
def lab() -> None:
    """Machines to try things on: QEMU machines that change size, and hollow nodes."""


def data_option(function: _Function) -> _Function:
    """Where the machines are; the same default as ``flexlet up``."""
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        callback=lambda _ctx, _param, value: value or _default_data(),
        help="Where the machines lie; the default is that of `flexlet up`.",
    )(function)


def _default_data() -> Path:
    from flexlet.cli.up import default_data

    return default_data()
