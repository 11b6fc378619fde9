"""References to variables in commands, arguments and values: ``$(NAME)``.

A name that is not known stays as it is written, ``$$`` is a dollar sign (so ``$$(X)`` is the text ``$(X)``), and
an unclosed ``$(`` stands for itself. The syntax of Kubernetes' `third_party/forked/golang/expansion`.
"""

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with every reference to a known variable replaced."""
    if "$" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        name: str | None = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)
