"""The question plugins may ask the authorizer: is this caller also allowed to do that?"""

from typing import Protocol

from flexlet.apiserver.contract.request import Attributes, Decision


class Authorizer(Protocol):
    """Whoever decides what callers may do."""

    def decide(self, attributes: Attributes) -> Decision:
        """Allowed or not, and why."""
        ...
