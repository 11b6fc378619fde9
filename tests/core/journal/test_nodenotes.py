from tests.core.hotplug import nodes

from flexlet.core.hotplug.plan import ResizePlan, plan
from flexlet.core.journal import nodenotes
from flexlet.core.journal.entry import DECIDED, LEARNED, Entry


def smaller() -> ResizePlan:
    """A node that loses half of its memory, with two pods of which one has to go."""
    tenants = (nodes.tenant("a", ",2Gi", priority=1), nodes.tenant("b", ",2Gi"))
    found = plan(nodes.generation(), nodes.machine(memory="4Gi"), 1.0, nodes.situation(*tenants))
    assert isinstance(found, ResizePlan)
    return found


def test_a_plan_is_noted_with_its_steps_and_victims() -> None:
    found = smaller()
    entry = Entry(1.0, DECIDED, nodenotes.NODE, nodenotes.decided(found))
    assert nodenotes.sentence(entry) == (
        "follow the machine to generation 2 (memory 8Gi→4Gi): Squeeze, HoldPods, TuneContainer, Publish,"
        " ReportNode, EndPods, Release; end default/b: OutOfmemory"
    )


def test_every_step_can_be_noted() -> None:
    """In words, whatever the step; failures with their reason."""
    for step in smaller().steps:
        done = Entry(1.0, LEARNED, nodenotes.NODE, nodenotes.finished(step, 0.5))
        failed = Entry(1.0, LEARNED, nodenotes.NODE, nodenotes.finished(step, 0.5, "no"))
        name = type(step).__name__
        assert nodenotes.sentence(done).startswith(f"{name} is done")
        assert nodenotes.sentence(failed).startswith(f"{name} failed: no")


def test_only_the_node_is_meant() -> None:
    mine, other = Entry(1.0, LEARNED, nodenotes.NODE, {}), Entry(1.0, LEARNED, "uid", {})
    assert nodenotes.of_node([other, mine]) == [mine]
