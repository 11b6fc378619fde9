"""What the cluster is told of the node's size: how far it follows its machine, and what of it is about to go."""

from flexlet.core.hotplug import telling
from flexlet.core.hotplug.preparing import Decision, Prepared
from flexlet.core.node.facts import Resizing
from flexlet.engine.agent.selfview import SelfView


class Saying:
    """Two speak and one is heard: the resizer of the size there is, `preparing` of what will be left of it."""

    def __init__(self, selfview: SelfView) -> None:
        self._selfview = selfview
        self._size: Resizing | None = None
        self._offer = Decision(state=Prepared())

    def tell(self, *, resizing: Resizing, **facts: object) -> None:
        """The node is as far as this with following its machine; other facts go along."""
        self._size = resizing
        self._say(**facts)

    def offer(self, decision: Decision) -> None:
        """So much of the node is offered from now on."""
        self._offer = decision
        self._say()

    def _say(self, **facts: object) -> None:
        if self._size is not None:
            self._selfview.tell(resizing=telling.offered(self._size, self._offer), **facts)
