"""What pods ask of the managers."""

import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod
from flexlet.core.managers.claims import ContainerClaim, PodClaim, claim

GUARANTEED = container("main", "2,1Gi", "2,1Gi")


@pytest.mark.parametrize(
    ("asked", "cpus", "memory"),
    [
        (pod(GUARANTEED), 2, {"memory": 1024**3}),
        (pod(container("main", "1500m,1Gi", "1500m,1Gi")), 0, {"memory": 1024**3}),
        (pod(container("main", "2,1Gi", "3,1Gi")), 0, {}),
        (pod(container("main")), 0, {}),
        (pod(GUARANTEED, level=("2,1Gi", "2,1Gi")), 0, {}),
        (
            pod(container("main", "1,1Gi,hugepages-2Mi=4Mi", "1,1Gi,hugepages-2Mi=4Mi")),
            1,
            {"memory": 1024**3, "hugepages-2Mi": 4 * 1024**2},
        ),
    ],
)
def test_only_guaranteed_pods_have_something_of_their_own(asked: Pod, cpus: int, memory: dict[str, int]) -> None:
    """CPUs only in whole numbers; nothing for pods whose resources are those of the pod."""
    assert claim(asked).containers == (ContainerClaim(name="main", cpus=cpus, memory=memory),)


def test_a_balloon_has_nothing_of_its_own() -> None:
    meta = ObjectMeta(namespace="kube-system", labels={"flexlet.io/balloon": "true"})
    assert claim(replace(pod(GUARANTEED), metadata=meta)).containers == (ContainerClaim(name="main"),)


@pytest.mark.parametrize(("memory", "fractional"), [("1073741824500m", True), ("1073741824000m", False)])
def test_a_fraction_of_a_byte_is_remarked(memory: str, fractional: bool) -> None:
    (found,) = claim(pod(container("main", f"2,{memory}", f"2,{memory}"))).containers
    assert found.fractional == fractional


def test_containers_are_in_the_order_in_which_they_start() -> None:
    asked = pod(
        GUARANTEED,
        init=(container("first", "1,1Gi", "1,1Gi"), container("beside", "1,1Gi", "1,1Gi", sidecar=True)),
    )
    found = claim(asked)
    assert isinstance(found, PodClaim)
    assert [(each.name, each.kind, each.cpus) for each in found.containers] == [
        ("first", "init", 1),
        ("beside", "sidecar", 1),
        ("main", "container", 2),
    ]
