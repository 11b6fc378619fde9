"""An agent that is not alone on its host, as a user starts it."""

import msgspec
from tests.apps.test_agent import CLOCK, World, world

from flexlet import __version__
from flexlet.api.quantity import Quantity
from flexlet.apps.agent import AgentOptions, agent
from flexlet.core.machine.sharing import Share


async def registered(there: World, options: AgentOptions) -> tuple[Quantity, Quantity, list[str]]:
    """CPUs of the machine, CPUs that are offered, and taints."""
    async with agent(options, CLOCK) as tasks:
        node = await there.node()
        for task in tasks:
            task.cancel()
    assert node["metadata"]["annotations"]["flexlet.io/agent"] == __version__
    whole, offered = (Quantity.parse(node["status"][part]["cpu"]) for part in ("capacity", "allocatable"))
    return (
        whole,
        offered,
        [key for each in node["spec"].get("taints", []) if (key := each["key"]).startswith("flexlet.io/")],
    )


async def test_a_fixed_share_is_offered_and_a_new_node_waits_for_its_balloon() -> None:
    async with world() as there:
        options = msgspec.structs.replace(there.options(), share=Share(2, 2), balloon_pending=True)
        whole, offered, taints = await registered(there, options)
        assert offered.milli == whole.milli // 2
        assert taints == ["flexlet.io/balloon-pending"]


async def test_with_a_ledger_the_whole_host_is_offered_and_the_share_is_claimed() -> None:
    async with world() as there:
        path = there.directory / "run" / "ledger.json"
        options = msgspec.structs.replace(there.options(), share=Share(1, 2), host_ledger=path)
        whole, offered, taints = await registered(there, options)
        assert (offered, taints) == (whole, [])
        (entry,) = msgspec.json.decode(path.read_bytes()).items()
        assert (entry[0], entry[1]["effective"]["cpu"]) == ("n1", whole.milli // 2)
