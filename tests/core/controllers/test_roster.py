"""Who belongs to whom, in whatever order it is learned."""

from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import selectors
from flexlet.api.meta import OwnerReference
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.roster import Family, Roster
from flexlet.core.views.pod import PodView

CONTROLLER = Controller("apps/v1", "ReplicaSet")
WEB = selectors.from_labels({"app": "web"})


def roster() -> Roster[PodView, Family[PodView]]:
    return Roster(CONTROLLER, Family)


def pod(
    name: str, owner: str = "", *, kind: str = "ReplicaSet", api: str = "apps/v1", app: str = "web"
) -> PodView:
    owners = (OwnerReference(api_version=api, kind=kind, name=owner, uid=owner, controller=True),) if owner else ()
    return PodView(uid=name, namespace="default", name=name, owners=owners, labels={"app": app})


def test_a_pod_is_sorted_to_the_controller_it_names() -> None:
    made = roster()
    assert made.seen(pod("a", "rs")) == {"rs"}
    assert made.seen(pod("a", "rs")) == set(), "nothing changed"
    assert list(made.crew("rs")) == ["a"]
    assert made.gone("a", "default") == {"rs"}
    assert made.find("rs") is None


def test_controllers_of_other_kinds_and_groups_are_none_of_its_business() -> None:
    made = roster()
    assert made.seen(pod("a", "x", kind="Job", api="batch/v1")) == set()
    assert made.seen(pod("b", "x", api="example.com/v1")) == set()
    assert made.seen(pod("c", "x", api="apps/v1beta2")) == {"x"}


def test_a_pod_that_changes_hands_needs_a_look_of_both() -> None:
    made = roster()
    made.seen(pod("a", "one"))
    assert made.seen(pod("a", "two")) == {"one", "two"}
    assert made.seen(pod("a", "other", kind="Job", api="batch/v1")) == {"two"}


def test_orphans_are_found_by_owners_whichever_comes_first() -> None:
    made = roster()
    made.seen(pod("early"))
    made.owner_seen("rs", "default", WEB)
    assert made.seen(pod("late")) == {"rs"}
    assert made.seen(pod("other", app="db")) == set()
    made.owner_seen("elsewhere", "other", WEB)
    assert [one.uid for one in made.adoptable("rs")] == ["early", "late"]
    assert made.adoptable("elsewhere") == []
    made.seen(pod("early", "rs"))
    made.gone("late", "default")
    assert made.adoptable("rs") == []


def test_an_owner_that_is_gone_adopts_nobody() -> None:
    made = roster()
    made.owner_seen("rs", "default", WEB)
    made.seen(pod("a"))
    made.owner_gone("rs", "default")
    assert made.adoptable("rs") == []
    assert made.seen(pod("a", app="still")) == set()


STEPS = st.tuples(st.sampled_from("abc"), st.sampled_from(["", "one", "two", "gone"]))


@given(st.lists(STEPS))
def test_every_pod_is_in_exactly_one_place(steps: list[tuple[str, str]]) -> None:
    """The last word about a pod decides, whatever was said before."""
    made = roster()
    made.owner_seen("one", "default", WEB)
    made.owner_seen("two", "default", WEB)
    last: dict[str, str] = {}
    for name, where in steps:
        last[name] = where
        if where == "gone":
            made.gone(name, "default")
        else:
            made.seen(pod(name, where))
    for owner in ("one", "two"):
        assert set(made.crew(owner)) == {name for name, where in last.items() if where == owner}
        adoptable = {one.uid for one in made.adoptable(owner)}
        assert adoptable == {name for name, where in last.items() if not where}
