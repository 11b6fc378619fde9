"""Which node is asking."""

from typing import Final

from flexlet.apiserver.contract.request import User

PREFIX: Final = "system:node:"
GROUP: Final = "system:nodes"


def node_identity(user: User) -> str | None:
    """The node's name, empty if it does not give one, None if the caller is no node."""
    if user.name.startswith(PREFIX) and GROUP in user.groups:
        return user.name.removeprefix(PREFIX)
    return None
