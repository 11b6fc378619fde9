"""The one error of selectors."""

from flexlet.errors import InputError


class SelectorFault(InputError):
    """The selector cannot be read; `message` is upstream's."""
