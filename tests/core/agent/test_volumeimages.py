"""Volumes that are images: pulled before containers that mount them, mounted read-only, kept while used."""

from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, container, event, living, pod, run, runtime

from flexlet.api.nodepod.volumes import ImageVolume, Volume, VolumeMount
from flexlet.core import imagegc
from flexlet.core.agent.containers import mounts
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.deeds import PullImage, StartContainer
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import Done, Failed, Finished, Outcome, PullBegan
from flexlet.core.agent.record import PodRecord, Trouble, VolumeImage
from flexlet.core.runtime.configs import ImageSource, Mount
from flexlet.core.runtime.shown import EXITED, RUNNING, Image

MOUNT = VolumeMount(name="v", mount_path="/v", sub_path="models/$(X)")
A, B, C = (
    container(name, volume_mounts=mounted) for name, mounted in (("a", (MOUNT,)), ("b", (MOUNT,)), ("c", ()))
)
VOLUME = Volume(name="v", image=ImageVolume(reference="models:2", pull_policy="Always"))
POD = pod(A, B, C, volumes=(VOLUME,))
PULL = PullImage(uid=UID, volume="v", image="models:2", policy="Always")


def ended(record: PodRecord, outcome: Outcome) -> tuple[PodRecord, list[tuple[str, ...]]]:
    end = Finished(deed=PULL, outcome=outcome, began_at=NOW - 2, ended_at=NOW)
    found = folded(record, end, SETUP, NOW)
    return found.record, [event(each) for each in found.events]


def test_what_was_pulled_serves_all_that_do_not_run() -> None:
    shown = runtime(run(B, state=RUNNING), run(A, state=EXITED))
    known = replace(living(POD), shown=shown)
    found, told = ended(known, Done(image_ref="sha256:v", pulled=True, size=9))
    assert found.volume_images == {"v": VolumeImage(ref="sha256:v", attempts={"a": 1})}
    text = 'Successfully pulled image "models:2" in 2s (2s including waiting). Image size: 9 bytes.'
    assert told == [("Normal", "Pulled", text, "")]


def test_a_failed_pull_is_the_pod_s_and_waits_ever_longer() -> None:
    found, told = ended(living(POD), Failed(reason="ErrImagePull", message="no", detail="no"))
    trouble = Trouble(reason="ErrImagePull", message="no", at=NOW)
    assert (found.volume_images, found.troubles) == ({"v": VolumeImage(trouble=trouble)}, {})
    assert (found.pulls["models:2"].delay_s, found.pulls["models:2"].why) == (10.0, "ErrImagePull: no")
    assert told == [("Warning", "Failed", 'Failed to pull image "models:2": no', "")]


def test_a_pull_that_begins_is_told_of_the_pod() -> None:
    found = folded(living(POD), PullBegan(uid=UID, volume="v", image="models:2"), SETUP, NOW)
    assert [event(each) for each in found.events] == [("Normal", "Pulling", 'Pulling image "models:2"', "")]


def test_a_start_that_failed_makes_nothing_sure_for_the_next_one() -> None:
    known = replace(living(POD), volume_images={"v": VolumeImage(ref="r", attempts={"a": 0, "b": 0})})
    start = StartContainer(
        uid=UID, container="a", attempt=0, sandbox_id="s0", image_ref="x", actuated=known.actuated
    )
    failure = Failed(reason="CreateContainerError", message="gone", stage="create")
    end = Finished(deed=start, outcome=failure, began_at=NOW, ended_at=NOW)
    found = folded(known, end, SETUP, NOW).record
    assert found.volume_images == {"v": VolumeImage(ref="r", attempts={"b": 0})}


def test_an_image_is_mounted_with_its_part_and_nothing_of_the_host() -> None:
    images = mounts.images(POD, A, (("X", "small"),), {"v": "sha256:v"})
    source = ImageSource(
        ref="sha256:v", name="models:2", annotations=POD.metadata.annotations, sub_path="models/$(X)"
    )
    assert images == {0: source}
    assert mounts.subpaths(POD, A, SETUP, ()) == ()
    assert mounts.mounts(POD, A, SETUP, {0: source}, "", "") == (
        Mount(container_path="/v", readonly=True, image=source),
    )
    odd = container("a", volume_mounts=(VolumeMount(name="v", mount_path="/v", sub_path_expr="$(Y)"),))
    assert mounts.images(POD, odd, (), {}) == Problem("missing value for Y")


def test_the_image_of_a_volume_is_in_use_until_the_pod_has_ended() -> None:
    pulled = replace(living(POD), volume_images={"v": VolumeImage(ref="sha256:v")})
    full = Image(id="sha256:other", tags=("docker.io/library/models:2",))
    mounted = Mount(container_path="/v", image=ImageSource(ref="sha256:m"))
    ran = replace(living(POD), stopped=True, shown=runtime(replace(run(A), mounts=(mounted,))))
    used = [
        imagegc.is_used(Image(id="sha256:v"), imagegc.names_in_use([pulled])),
        imagegc.is_used(full, imagegc.names_in_use([living(POD)])),
        imagegc.is_used(full, imagegc.names_in_use([ran])),
        imagegc.is_used(Image(id="sha256:m"), imagegc.names_in_use([ran])),
    ]
    assert used == [True, True, False, True]
