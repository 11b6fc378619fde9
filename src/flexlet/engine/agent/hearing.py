"""The node's part of the API: its pods and its Node are followed, the Node and mirror pods are kept up to date."""

import asyncio

from flexlet.core.node.decider import NodeDecider
from flexlet.core.observations import Observation
from flexlet.core.staticpods.mirrors import MirrorDecider
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.connection import Connection
from flexlet.engine.executor import Executor
from flexlet.engine.fanout import Fanout, Reader
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import NODES, PODS, Ref


class Hearing:
    """Two feeds, the two deciders that live on them, and whoever `join`s; all of them are run by the agent."""

    def __init__(
        self, name: str, tools: Tools, recorder: Recorder, decider: NodeDecider, mirrors: MirrorDecider
    ) -> None:
        self.pods = _feed(tools, PODS, f"spec.nodeName={name}", Connection("API server", tools.clock))
        self.node = _feed(tools, NODES, f"metadata.name={name}")
        executor = Executor(tools.cluster, recorder)
        self.node_loop = Loop(decider, (), executor, tools.clock, shared=[self.node])
        self.mirror_loop = Loop(mirrors, (), executor, tools.clock, shared=[self.pods])
        self._heard_pods = asyncio.Event()
        self._heard_node = asyncio.Event()

    def join(self, take_pods: Reader, take_node: Reader) -> None:
        """For those who depend on what the deciders know: they are told after them."""
        self.pods.join(_told(take_pods, self._heard_pods))
        self.node.join(_told(take_node, self._heard_node))

    async def everything(self) -> None:
        """Wait until all pods of this node and the Node itself have been told to those who joined."""
        await self._heard_pods.wait()
        await self._heard_node.wait()


def _feed(tools: Tools, ref: Ref, selector: str, connection: Connection | None = None) -> Fanout:
    return Fanout(Feed(tools.cluster, tools.clock, ref, field_selector=selector, connection=connection))


def _told(reader: Reader, heard: asyncio.Event) -> Reader:
    def tell(batch: list[Observation]) -> None:
        reader(batch)
        heard.set()

    return tell
