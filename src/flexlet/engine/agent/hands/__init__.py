"""The agent's hands: each deed carried out through the ports, to its end.

One module per kind of deed. A fault of the world (runtime, kernel, API) becomes a Failed outcome with the text
that people will read; a bug stays an exception and takes the agent down, which restarts and recovers.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from flexlet.api.status import ApiError
from flexlet.core.agent import deeds
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.engine.agent.hands import (
    containers,
    images,
    looking,
    pinning,
    probes,
    reports,
    resizing,
    sandboxes,
    stopping,
    volumes,
)
from flexlet.engine.agent.hands.images import Puller
from flexlet.engine.agent.hands.tools import Tools
from flexlet.errors import HostError, InputError, RuntimeFault

Work = Callable[[Tools, Any, PodRecord, World], Awaitable[Outcome]]

_WORK: Final[dict[type[deeds.Deed], Work]] = {
    deeds.Inspect: looking.inspect,
    deeds.SaveAllocation: resizing.save_allocation,
    deeds.ForgetPod: resizing.forget_pod,
    deeds.CreatePodCgroup: resizing.create_pod_cgroup,
    deeds.RemovePodCgroup: resizing.remove_pod_cgroup,
    deeds.MountVolumes: volumes.mount,
    deeds.RemoveVolumes: volumes.remove,
    deeds.RunSandbox: sandboxes.run,
    deeds.StopSandbox: sandboxes.stop,
    deeds.RemoveSandbox: sandboxes.remove,
    deeds.StartContainer: containers.start,
    deeds.StopContainer: stopping.stop,
    deeds.RunPreStop: stopping.run_pre_stop,
    deeds.RemoveContainer: containers.remove,
    deeds.TakeStep: resizing.take_step,
    deeds.SetCpus: pinning.set_cpus,
    deeds.RunProbe: probes.ask,
    deeds.ReportStatus: reports.report,
    deeds.FinishDelete: reports.finish_delete,
}
_SHOW_AFTER: Final = (
    deeds.RunSandbox,
    deeds.StopSandbox,
    deeds.RemoveSandbox,
    deeds.StartContainer,
    deeds.StopContainer,
    deeds.RemoveContainer,
    deeds.CreatePodCgroup,
    deeds.RemovePodCgroup,
)
"""After these the pod looks different; what it looks like is told before their end is."""


class AgentHands:
    """Carries out deeds; holds nothing but the tools and the line of pulls."""

    def __init__(self, tools: Tools, puller: Puller | None = None) -> None:
        self._tools = tools
        self._puller = puller or Puller(tools)

    async def do(self, deed: PodDeed, record: PodRecord, world: World) -> Outcome:
        """Carry out one deed."""
        try:
            outcome = await self._work(deed, record, world)
            if isinstance(deed, _SHOW_AFTER):
                await looking.show(self._tools, record, world)
        except RuntimeFault as fault:
            return Failed(message=fault.detail)
        except (HostError, ApiError, InputError) as error:
            return Failed(message=str(error))
        return outcome

    async def _work(self, deed: PodDeed, record: PodRecord, world: World) -> Outcome:
        if isinstance(deed, deeds.PullImage):
            return await self._puller.pull(deed, record, world)
        return await _WORK[type(deed)](self._tools, deed, record, world)


__all__ = ["AgentHands", "Done", "Puller", "Tools", "images"]
