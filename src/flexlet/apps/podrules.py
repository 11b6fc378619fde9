"""The API server's rules for pods, for pods that never pass an API server.

They are loaded when the first static pod is: most nodes have none.
"""

from collections.abc import Mapping

from flexlet.core.staticpods.pods import Object


class ServerRules:
    """Static pods are read, completed and refused as if they had been posted."""

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates

    def read(self, value: Object) -> Object:
        """The pod with every field of its type (else InputError); unknown fields are dropped, as on a post."""
        from flexlet.api import schema

        pod: Object = schema.read_value(schema.named("core.v1.Pod"), value, checked=False).value
        return pod

    def complete(self, pod: Object) -> list[str]:
        """Fill in defaults, in place, and say what is wrong."""
        from flexlet.apiserver.kinds.pod.strategy import PodStrategy

        strategy = PodStrategy(self._gates)
        strategy.default(pod)
        return [str(error) for error in strategy.validate(pod)]
