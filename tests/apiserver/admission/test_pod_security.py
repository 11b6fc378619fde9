"""Pod security levels of namespaces."""

from typing import Any

import pytest
from tests.apiserver.admission.world import World, add_namespace, forbidden_of, new_world, pod, refused, request_of


def labelled(world: World, **labels: str) -> None:
    add_namespace(
        world, "ns", labels={f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
    )


HOST = "host namespaces (hostNetwork=true)"


async def test_enforcement_refuses_pods_and_warns_about_templates() -> None:
    world = new_world()
    labelled(world, enforce="baseline")
    detail = f'violates PodSecurity "baseline:latest": {HOST}'
    assert await refused(world, pod(hostNetwork=True)) == forbidden_of("pods", "p", detail)
    deployment = {"metadata": {"name": "d"}, "spec": {"template": {"spec": pod(hostNetwork=True)["spec"]}}}
    request = request_of("CREATE", "deployments", deployment, "ns")
    await world.admit(request)
    assert request.warnings == [f'would violate PodSecurity "baseline:latest": {HOST}']


@pytest.mark.parametrize(("image", "is_judged"), [("x", False), ("y", True)])
async def test_an_update_is_judged_if_it_changes_what_runs(image: str, is_judged: bool) -> None:
    world = new_world()
    labelled(world, warn="baseline")
    new = pod(hostNetwork=True)
    new["spec"]["containers"][0]["image"] = image
    request = request_of("UPDATE", "pods", new, "ns", old=pod(hostNetwork=True))
    await world.admit(request)
    assert bool(request.warnings) is is_judged


async def test_status_updates_are_not_judged() -> None:
    world = new_world()
    labelled(world, enforce="baseline")
    new = pod(hostNetwork=True)
    assert await world.update("pods", new, pod(), "ns", subresource="status") == new


def namespace_with(**labels: str) -> Any:
    keyed = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    return {"metadata": {"name": "ns", "labels": keyed}}


async def test_wrong_labels_of_a_namespace_are_invalid() -> None:
    """On update only if they are new."""
    world = new_world()
    wrong = namespace_with(enforce="odd")
    answer = await world.refusal(request_of("CREATE", "namespaces", wrong))
    assert (answer["code"], answer["message"]) == (
        422,
        (
            'Namespace "ns" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: '
            'Invalid value: "odd": must be one of privileged, baseline, restricted'
        ),
    )
    assert await world.update("namespaces", wrong, wrong) == wrong


async def test_a_stricter_namespace_hears_about_its_pods() -> None:
    world = new_world()
    for name, spec in (
        ("b", {"hostNetwork": True}),
        ("a", {"hostNetwork": True}),
        ("c", {"hostPID": True}),
        ("d", {}),
    ):
        world.put("pods", pod(name, **spec), "ns")
    world.put("pods", pod("e", hostNetwork=True, volumes=[{"name": "v", "hostPath": {}}]), "ns")
    request = request_of("UPDATE", "namespaces", namespace_with(enforce="baseline"), old=namespace_with())
    await world.admit(request)
    assert request.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
        "e: host namespaces, hostPath volumes",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"enforce": "baseline"}, {"enforce": "baseline", "warn": "restricted"}),
        ({"enforce": "restricted"}, {"enforce": "baseline"}),
        ({"enforce": "restricted"}, {"enforce": "privileged", "enforce_version": "v1.20"}),
    ],
)
async def test_a_namespace_that_is_not_stricter_hears_nothing(before: Any, after: Any) -> None:
    world = new_world()
    world.put("pods", pod(hostNetwork=True), "ns")
    request = request_of("UPDATE", "namespaces", namespace_with(**after), old=namespace_with(**before))
    await world.admit(request)
    assert request.warnings == []
