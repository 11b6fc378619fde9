from typing import Any

import pytest
from tests.core.eviction.candidates import candidate, fs

from flexlet.api.nodepod.volumes import EmptyDir, Volume
from flexlet.api.quantity import Quantity
from flexlet.core.eviction.storage import Breach, breach, has_limits

SMALL = (Volume(name="v", empty_dir=EmptyDir(size_limit=Quantity.parse("10Mi"))),)
LIMIT = ",,ephemeral-storage=20Mi"
CONTAINER = Breach("ephemeralcontainerfs.limit", 'Container c exceeded its local ephemeral storage limit "20Mi". ')
POD = Breach(
    "ephemeralpodfs.limit", "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. "
)
VOLUME = Breach("emptydirfs.limit", 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". ')


@pytest.mark.parametrize(
    ("uses", "found"),
    [
        ({"volumes": SMALL, "volume_use": {"v": fs(11)}}, VOLUME),
        ({"volumes": SMALL, "volume_use": {"v": fs(10)}}, None),
        ({"volumes": SMALL}, None),
        ({"limits": LIMIT, "ephemeral_storage": fs(21)}, POD),
        ({"limits": LIMIT, "ephemeral_storage": fs(20)}, None),
        ({"limits": LIMIT, "logs": fs(15), "rootfs": fs(6)}, CONTAINER),
        ({"logs": fs(15), "rootfs": fs(6), "ephemeral_storage": fs(900)}, None),
        ({"limits": LIMIT, "volumes": SMALL, "volume_use": {"v": fs(11)}, "ephemeral_storage": fs(21)}, VOLUME),
    ],
)
def test_limits_of_local_storage(uses: dict[str, Any], found: Breach | None) -> None:
    """The volume's, the pod's, the container's; exactly as much is allowed."""
    assert breach(candidate("web", 1, **uses)) == found


def test_layers_on_another_filesystem_do_not_count() -> None:
    pod = candidate("web", 1, limits=LIMIT, logs=fs(15), rootfs=fs(6))
    assert (breach(pod, own_image_fs=True), breach(candidate("web", None, limits=LIMIT))) == (None, None)


def test_only_pods_with_limits_are_worth_measuring() -> None:
    assert has_limits(candidate("web", limits=LIMIT))
    assert has_limits(candidate("web", volumes=SMALL))
    assert not has_limits(candidate("web", limits="1,1Gi", volumes=(Volume(name="v", empty_dir=EmptyDir()),)))
