"""What is seen of a balloon pod."""

import pytest

from flexlet.api.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus
from flexlet.core.nodesize import sights


@pytest.mark.parametrize(
    ("state", "stuck"),
    [
        ({}, ""),
        ({"running": {}}, ""),
        ({"waiting": {"reason": "ContainerCreating"}}, ""),
        ({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "ErrImagePull: no such image"),
        ({"waiting": {"reason": "CreateContainerError"}}, "CreateContainerError"),
    ],
)
def test_why_a_balloon_does_not_start(state: dict[str, dict[str, str]], stuck: str) -> None:
    status = PodStatus(container_statuses=(ContainerStatus(name="balloon", state=state),))
    pod = Pod(spec=PodSpec(containers=(Container(name="balloon"),)), status=status)
    assert sights.balloon(pod).stuck == stuck
