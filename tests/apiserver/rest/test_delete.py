from typing import Any

import pytest
from tests.apiserver.rest.world import DRY, TIME, World, config, version

from flexlet.api import status
from flexlet.apiserver.rest.deleteoptions import DeleteOptions, Preconditions, check, from_body
from flexlet.apiserver.rest.listoptions import ListOptions

HOLD = "example.com/hold"


async def test_most_kinds_answer_with_a_status(world: World) -> None:
    created = await world.create("configmaps", config("a"))
    answer = await world.delete("configmaps", "a")
    details = {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    with pytest.raises(status.NotFound):
        world.get("configmaps", "a")


async def test_some_kinds_answer_with_the_object_as_it_went(world: World) -> None:
    created = await world.create("serviceaccounts", config("sa"))
    gone = await world.delete("serviceaccounts", "sa")
    assert version(gone) == version(created) + 1
    created["metadata"]["resourceVersion"] = gone["metadata"]["resourceVersion"]
    assert gone == created


async def test_preconditions_must_hold(world: World) -> None:
    created = await world.create("configmaps", config("a"))
    uid, revision = created["metadata"]["uid"], created["metadata"]["resourceVersion"]
    with pytest.raises(status.Conflict) as error:
        await world.delete("configmaps", "a", preconditions=Preconditions(uid="other"))
    assert str(error.value) == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the '
        f"UID in record ({uid}). The object might have been deleted and then recreated"
    )
    with pytest.raises(status.Conflict) as error:
        await world.delete("configmaps", "a", preconditions=Preconditions(resource_version="77"))
    assert "the ResourceVersion in the precondition (77) does not match" in str(error.value)
    await world.delete("configmaps", "a", preconditions=Preconditions(uid, revision))


async def test_a_dry_run_deletes_nothing(world: World) -> None:
    await world.create("configmaps", config("a"))
    assert (await world.delete("configmaps", "a", options=DRY))["status"] == "Success"
    assert await world.names("configmaps") == ["ns/a"]


async def test_finalizers_keep_an_object_until_an_update_removes_the_last(world: World) -> None:
    await world.create("configmaps", config("f", finalizers=[HOLD]))
    marked = await world.delete("configmaps", "f")
    assert marked["metadata"]["deletionTimestamp"] == TIME
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert await world.delete("configmaps", "f") == marked
    kept = await world.patch("configmaps", "f", {"metadata": {"deletionTimestamp": None}, "data": {"x": "1"}})
    assert kept["metadata"]["deletionTimestamp"] == TIME
    with pytest.raises(status.Invalid):
        await world.patch("configmaps", "f", {"metadata": {"finalizers": [HOLD, "example.com/two"]}})
    last = await world.patch("configmaps", "f", {"metadata": {"finalizers": []}})
    assert version(last) == version(kept)
    assert "finalizers" not in last["metadata"]
    assert await world.names("configmaps") == []


async def test_deletion_counts_the_generation_up_once(world: World) -> None:
    await world.pod("p", node="n", finalizers=[HOLD])
    assert (await world.delete("pods", "p"))["metadata"]["generation"] == 2
    assert (await world.delete("pods", "p", grace_period_seconds=0))["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("node", "phase", "asked", "period"),
    [
        ("", "", None, None),
        ("n", "", None, 30),
        ("n", "", 5, 5),
        ("n", "", -7, 1),
        ("n", "", 0, None),
        ("n", "Succeeded", None, None),
        ("n", "Failed", 20, None),
    ],
)
async def test_how_long_a_pod_may_take(
    world: World, node: str, phase: str, asked: int | None, period: int | None
) -> None:
    """None: the pod is gone at once, because nobody runs it or the client does not want to wait."""
    await world.pod("p", node=node, phase=phase)
    answer = await world.delete("pods", "p", grace_period_seconds=asked)
    assert answer["metadata"]["deletionGracePeriodSeconds"] == (period or 0)
    assert await world.names("pods") == ([] if period is None else ["ns/p"])


async def test_a_later_deletion_only_shortens_the_grace(world: World) -> None:
    await world.pod("p", node="n")
    first = await world.delete("pods", "p")
    assert first["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:30Z"
    assert await world.delete("pods", "p", grace_period_seconds=100) == first
    shorter = await world.delete("pods", "p", grace_period_seconds=5)
    assert shorter["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:05Z"
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    world.now += 60
    late = await world.delete("pods", "p", grace_period_seconds=3)
    assert late["metadata"]["deletionTimestamp"] == "2027-01-15T08:01:00Z"
    assert late["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_deleting_a_pod_at_once_is_two_writes(world: World) -> None:
    """Watchers see it marked, then gone, as kube-apiserver shows it."""
    await world.pod("p")
    watch = world.watch("pods", resource_version=str(world.store.revision))
    await world.delete("pods", "p")
    (marked, before), (gone, after) = await watch.next(), await watch.next()
    await watch.close()
    assert (marked, gone) == ("MODIFIED", "DELETED")
    assert before["metadata"]["deletionGracePeriodSeconds"] == 0
    assert version(after) == version(before) + 1


@pytest.mark.parametrize(
    ("said", "finalizers"),
    [
        ({"propagation_policy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagation_policy": "Orphan"}, ["orphan"]),
        ({"orphan_dependents": True}, ["orphan"]),
    ],
)
async def test_propagation_leaves_work_for_the_collector(
    world: World, said: dict[str, Any], finalizers: list[str]
) -> None:
    await world.create("configmaps", config("owner"))
    answer = await world.delete("configmaps", "owner", **said)
    assert answer["metadata"]["finalizers"] == finalizers


@pytest.mark.parametrize("said", [{}, {"propagation_policy": "Background"}, {"orphan_dependents": False}])
async def test_background_is_the_default(world: World, said: dict[str, Any]) -> None:
    await world.create("configmaps", config("owner"))
    assert (await world.delete("configmaps", "owner", **said))["kind"] == "Status"


async def test_jobs_keep_their_pods_and_say_so(world: World) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    await world.create("jobs", {"metadata": {"name": "j"}, "spec": {"template": template}})
    call = world.call("jobs", "j")
    await world.rest.delete(call)
    assert world.get("jobs", "j")["metadata"]["finalizers"] == ["orphan"]
    assert [text.split(";")[0] for text in call.warnings] == [
        "child pods are preserved by default when jobs are deleted"
    ]


async def test_a_namespace_terminates_and_goes_with_its_last_finalizer(world: World) -> None:
    await world.create("namespaces", config("team"))
    marked = await world.delete("namespaces", "team")
    assert marked["status"]["phase"] == "Terminating"
    assert marked["metadata"]["deletionTimestamp"] == TIME
    assert "deletionGracePeriodSeconds" not in marked["metadata"]
    assert await world.delete("namespaces", "team") == marked
    marked["spec"] = {"finalizers": []}
    await world.update("namespaces", marked, "finalize")
    assert await world.names("namespaces") == []


async def test_a_collection_goes_by_selector_and_answers_as_it_was(world: World) -> None:
    for index in range(4):
        await world.create("configmaps", config(f"k{index}", labels={"odd": str(index % 2)}))
    before = world.get("configmaps", "k1")
    call = world.call("configmaps")
    rows = await world.rest.delete_collection(call, ListOptions(label_selector="odd=1"), DeleteOptions())
    assert [row.key for row in rows.rows] == ["ns/k1", "ns/k3"]
    assert rows.rows[0].revision == version(before)
    assert await world.names("configmaps") == ["ns/k0", "ns/k2"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"propagationPolicy": "Sideways"},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": '
                'supported values: "Foreground", "Background", "Orphan", "nil"'
            ),
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set"
            ),
        ),
        (
            {"dryRun": ["Some"]},
            (
                'DeleteOptions.meta.k8s.io "" is invalid: '
                'dryRun: Unsupported value: ["Some"]: supported values: "All"'
            ),
        ),
        (
            {"kind": "Pod", "apiVersion": "v1"},
            'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
    ],
)
def test_options_that_mean_nothing(body: dict[str, Any], message: str) -> None:
    with pytest.raises(status.ApiError) as error:
        check(from_body(body))
    assert str(error.value) == message
