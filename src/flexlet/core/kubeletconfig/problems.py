"""What is wrong with a configuration: a place in it, and what to do about it. All of it at once, in order."""

from collections.abc import Iterable

import msgspec

from flexlet.errors import ConfigError


class Problem(msgspec.Struct, frozen=True, order=True):
    """One complaint; `path` is the field's (``authentication.webhook.cacheTTL``), empty for the whole document."""

    path: str
    text: str


def refuse(source: str, problems: Iterable[Problem]) -> None:
    """Raise ConfigError with a line per problem, sorted by path; nothing to complain about is no error.

    Raises:
        ConfigError: there are problems.
    """
    found = sorted(set(problems))
    if found:
        raise ConfigError("\n".join(f"{source}: {each.path}: {each.text}".replace(": :", ":") for each in found))
