"""stub."""

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.node import Node


class Outcome(msgspec.Struct, frozen=True):
    """What rules found."""

    errors: list[FieldError] = []
    warnings: list[str] = []


class Rules:
    """Compiled rules."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def check(self, obj: Object, old: Object | None) -> Outcome:
        """Check."""
        return Outcome()
