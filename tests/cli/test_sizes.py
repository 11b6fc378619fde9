"""A small cluster as people use it: a node becomes smaller and larger, and all commands tell the same."""

from collections.abc import Iterator

import pytest
from tests import servers
from tests.cli.conftest import Api, Command, until

from flexlet.ports.cluster import PODS

pytestmark = pytest.mark.slow

REFUSED = 3
LACKS = "2 more is wanted and there is room for 1"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A cluster with one node of 8 CPUs and 32Gi, on paper."""
    with servers.flexlet(tmp_path_factory.mktemp("up"), "up", "--node", "hollow=1") as running:
        yield Api(running.kubeconfig)


NODES_TABLE = """\
NAME      STATUS  RESOURCE  ALLOCATABLE  BALLOON  EFFECTIVE  USED  HEADROOM                          RESIZE
hollow-0  Ready   cpu       8            4        4          3     1         [########..oooooooooo]  -
hollow-0  Ready   memory    31.9Gi       15.9Gi   16Gi       0     16Gi      [..........oooooooooo]  -
"""


def test_a_node_becomes_smaller_and_larger(api: Api, flexlet: Command) -> None:
    """Nobody is ended for it; what does not fit is refused and costs nothing."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
    api.create(PODS, {"metadata": {"name": "web"}, "spec": {"containers": [container]}}, "default")
    until(lambda: api.get(PODS, "web", "default")["status"].get("phase") == "Running")
    code, printed, _ = flexlet("resize", "node", "hollow-0", "--cpu", "4", "--memory", "16Gi")
    assert (code, printed.splitlines()) == (
        0,
        [
            "hollow-0  cpu     effective 8 -> 4          balloon 0 -> 4",
            "hollow-0  memory  effective 31.9Gi -> 16Gi  balloon 0 -> 15.9Gi",
        ],
    )
    assert flexlet("get", "nodes") == (0, NODES_TABLE, "")

    code, printed, talk = flexlet("resize", "node", "hollow-0", "--cpu", "2")
    assert (code, printed.splitlines()[0]) == (REFUSED, "hollow-0  cpu     effective 4     balloon 4")
    assert talk.splitlines()[-1] == f"hollow-0: refused: cpu: {LACKS}"

    code, printed, _ = flexlet("resize", "node", "hollow-0", "--cpu", "6")
    assert (code, printed.splitlines()[0]) == (0, "hollow-0  cpu     effective 4 -> 6  balloon 4 -> 2")
    assert api.get(PODS, "web", "default")["status"]["phase"] == "Running"

    story = [line.partition("Z: ")[2] for line in flexlet("explain", "node/hollow-0")[1].splitlines()[1:-1]]
    assert story == [
        "BalloonInflated: cpu 4 of balloon",
        "BalloonInflated: memory 16284Mi of balloon",
        f"BalloonInflateRefused: cpu 4 of balloon, cpu 6 was wanted, 1 is missing: {LACKS}",
        "BalloonDeflated: cpu 2 of balloon",
    ]
    detail = flexlet("get", "node", "hollow-0")[1].splitlines()
    assert detail[5] == "Wanted size:     effective cpu 6, memory 16Gi, via Balloon"
