"""What is left to do for a node at rest: containers that have values of another size, and what remains short."""

from flexlet.core.hotplug.plan import late, remaining
from flexlet.core.hotplug.settling import Situation
from flexlet.core.machine.machine import Machine
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.doing import Doing
from flexlet.engine.agent.resizing.looking import Looking


class Late:
    """For the owner of the node's size, who holds its turn meanwhile."""

    def __init__(self, generations: Generations, looking: Looking, doing: Doing) -> None:
        self._generations = generations
        self._looking = looking
        self._doing = doing

    async def look(self, machine: Machine) -> tuple[str, ...]:
        """Tune who was just starting, or did not want to; what remains to be told. HostError if that fails."""
        situation = await self._looking.look(machine)
        self._doing.forget(_running(situation))
        worn = self._generations.worn
        for step in late(worn, machine, situation):
            await self._doing.tune(step)
        if worn and not self._doing.untuned:
            await self._generations.outlive(worn)
        return remaining(machine, situation)


def _running(situation: Situation) -> frozenset[str]:
    return frozenset(run for each in situation.tenants for run in each.running.values())
