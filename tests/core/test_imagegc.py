"""Which images go: unused, old enough, not pinned, the longest unused first, and no more than needed."""

from hypothesis import given
from hypothesis import strategies as st
from tests.core.agent.builders import container, pod, record, run, runtime

from flexlet.core import imagegc
from flexlet.core.agent.record import ImageState
from flexlet.core.imagegc import ImagePolicy, ImageUse
from flexlet.core.runtime.shown import Image

POLICY = ImagePolicy()
NOW = 1000.0


def image(name: str, size: int = 10, *, pinned: bool = False) -> Image:
    return Image(id=f"sha256:{name}", tags=(f"docker.io/library/{name}:1",), size=size, pinned=pinned)


def test_images_of_containers_are_in_use_ended_ones_included() -> None:
    """By id, by reference, or by the name that the runtime resolved; also those that a pod will start with."""
    app = container("app")
    shown = runtime(run(app, image="docker.io/library/a:1", image_id="sha256:b", image_ref="c@sha256:1"),
                    run(app, 1, state="EXITED", image="docker.io/library/d:1"))  # fmt: skip
    known = record(pod(app), shown, images={"app": ImageState(ref="sha256:e")})
    names = imagegc.names_in_use([known, record(pod(app))])
    assert names == {"docker.io/library/a:1", "sha256:b", "c@sha256:1", "docker.io/library/d:1", "sha256:e"}
    assert [imagegc.is_used(image(each), names) for each in "abdef"] == [True, True, True, True, False]


def test_a_look_notes_use_and_forgets_what_is_gone() -> None:
    before = {"sha256:a": ImageUse(1.0), "sha256:gone": ImageUse(1.0)}
    after = imagegc.looked(before, [image("a"), image("b")], {"sha256:a"}, NOW)
    assert after == {"sha256:a": ImageUse(1.0, NOW), "sha256:b": ImageUse(NOW)}


def test_the_longest_unused_goes_first_and_pinned_ones_never() -> None:
    uses = {
        "sha256:a": ImageUse(5.0, 900.0),
        "sha256:b": ImageUse(4.0),
        "sha256:c": ImageUse(3.0, 800.0),
        "sha256:d": ImageUse(2.0),
        "sha256:e": ImageUse(1.0),
    }
    images = [image("a"), image("b"), image("c"), image("d", pinned=True), image("e")]
    ordered = imagegc.in_order(images, uses, {"sha256:e"})
    assert [each.id[-1] for each in ordered] == ["b", "c", "a"]


def test_what_was_found_just_now_stays() -> None:
    uses = {"sha256:a": ImageUse(NOW - 119), "sha256:b": ImageUse(NOW - 120)}
    assert imagegc.ripe([image("a"), image("b")], uses, POLICY, NOW) == [image("b")]


def test_age_counts_only_when_the_agent_is_old_enough_to_know() -> None:
    policy, uses = (
        ImagePolicy(max_age_s=100),
        {"sha256:a": ImageUse(0.0, NOW - 101), "sha256:b": ImageUse(0.0, NOW)},
    )
    both = [image("a"), image("b")]
    assert imagegc.outdated(both, uses, policy, began=NOW - 100, now=NOW) == []
    assert imagegc.outdated(both, uses, policy, began=NOW - 101, now=NOW) == [image("a")]
    assert imagegc.outdated(both, uses, POLICY, began=0.0, now=NOW) == []


def test_nothing_is_freed_below_the_high_mark() -> None:
    assert imagegc.to_free(1000, 160, POLICY) == 0
    assert imagegc.to_free(1000, 150, POLICY) == 50
    assert imagegc.to_free(1000, 0, POLICY) == 200


def test_it_is_told_how_full_the_disk_is() -> None:
    assert imagegc.not_enough(20 << 30, 1 << 30, 5).startswith(
        "Insufficient free disk space on the node's image filesystem (95% of 20.0 GiB used). "
        "Failed to free sufficient space by deleting unused images (freed 5 bytes). "
    )
    assert "(100% of 512 B used)" in imagegc.not_enough(512, 0, 0)


def test_a_policy_may_say_never() -> None:
    assert ImagePolicy(high_percent=100).is_idle
    assert not ImagePolicy(high_percent=100, max_age_s=1).is_idle


@given(st.integers(1, 10**15), st.integers(0, 10**15))
def test_freeing_what_is_asked_for_ends_the_shortage(capacity: int, available: int) -> None:
    wanted = imagegc.to_free(capacity, min(available, capacity), POLICY)
    assert imagegc.to_free(capacity, min(available, capacity) + wanted, POLICY) == 0
