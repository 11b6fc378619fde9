from tests.core.staticpods.manifests import LENIENT, NODE, NOW, manifest, pod

from flexlet.core.staticpods.household import Changes, Household
from flexlet.core.staticpods.pods import Manifest, Refused

NAME = ("default", "st-node-a")
OLD, NEW = pod(), pod(hostNetwork=True)


def household(*found: Manifest) -> Household:
    home = Household(NODE, LENIENT)
    home.learn(found, NOW)
    return home


def test_pods_come_and_go_once() -> None:
    """What was told is not told again, and a pod that is read again keeps the time it was first seen."""
    home = household(manifest())
    assert home.changes({}) == Changes((OLD,), ())
    home.learn([manifest()], NOW + 20)
    assert (home.changes({OLD.uid: NAME}), home.pods) == (Changes(), (OLD,))
    home.learn([], NOW + 40)
    assert home.changes({OLD.uid: NAME}) == Changes((), (OLD.uid,))
    assert home.changes({OLD.uid: NAME}) == Changes()


def test_a_changed_pod_waits_for_its_predecessor() -> None:
    """Two pods of one name never run side by side."""
    home = household(manifest())
    home.changes({})
    home.learn([manifest(hostNetwork=True)], NOW)
    assert home.changes({OLD.uid: NAME}) == Changes((), (OLD.uid,))
    assert home.changes({OLD.uid: NAME}) == Changes()
    assert home.changes({}) == Changes((NEW,), ())


def test_a_pod_of_an_earlier_agent_is_waited_for() -> None:
    """The manifest may have changed while the agent was away."""
    home = household(manifest(hostNetwork=True))
    assert home.changes({"from-before": NAME}) == Changes()
    assert home.changes({NEW.uid: NAME, "other": ("default", "other")}) == Changes((NEW,), ())


def test_a_file_that_is_broken_for_now_ends_nothing() -> None:
    """Writers do not always write at once; the pod goes on as its file last said."""
    home = household(manifest(), manifest("good"))
    home.changes({})
    broken = Manifest(OLD.path, problem="half a document")
    home.learn([broken, manifest("good")], NOW)
    assert (home.changes({}), home.refused) == (Changes(), (Refused(OLD.path, "half a document"),))
    home.learn([manifest("good")], NOW)
    assert home.changes({}) == Changes((), (OLD.uid,))


def test_of_two_pods_with_one_name_the_last_wins() -> None:
    first, second = manifest(path="/m/a"), manifest(path="/m/b")
    home = household(first, second)
    assert home.pods == (pod(path="/m/b"),)
    assert home.refused == (Refused("/m/a", "/m/b is another pod default/st-node-a"),)
