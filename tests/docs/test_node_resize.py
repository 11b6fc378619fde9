"""What the pages about hot plug say: the example works, every field, reason and gate is there."""

import re

import yaml

from docs import generate
from flexlet.adapters import kubeletconfig
from flexlet.core import gates
from flexlet.core.hotplug import plan, readmission, telling
from flexlet.core.kubeletconfig.noderesize import NodeResizeConfiguration, to_value
from flexlet.core.managers import resync
from flexlet.core.node import veto

HOWTO = (generate.DOCS / "howto/plug-and-unplug.md").read_text()
EXAMPLE = generate.DOCS / "howto/node-resize.yaml"


def test_the_example_is_what_an_empty_file_means() -> None:
    assert kubeletconfig.load_resize(EXAMPLE) == NodeResizeConfiguration()
    assert set(yaml.safe_load(EXAMPLE.read_text())) == set(to_value(NodeResizeConfiguration()))


def test_the_reference_says_what_every_field_means() -> None:
    rows = [line.split(" | ") for line in "".join(generate.PARTS["node-resize-fields"]()).splitlines()[2:]]
    assert len(rows) == len(to_value(NodeResizeConfiguration())) - 2
    assert [row[0] for row in rows if len(row) != 3 or not row[2].rstrip(" |")] == []


def test_every_reason_of_the_condition_is_explained() -> None:
    table = HOWTO.partition("| reason | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {
        *(
            telling.IN_PROGRESS,
            telling.HALF_PLUGGED,
            telling.UNPLUG_REFUSED,
            telling.FAILED,
            telling.UNPLUG_NOT_FOLLOWED,
        ),
        *(readmission.CRITICAL_OVER_CAPACITY, readmission.CPU_OVERCOMMITTED),
        *(plan.BELOW_RESERVED, plan.PODS_OVER_CAPACITY),
        *(resync.RESERVED_CPUS_MISSING, resync.TOO_MANY_NUMA_NODES, veto.REJECTED),
    }


def test_the_gates_that_are_named_exist() -> None:
    named = re.findall(r"^\| `(\w+)`(?: \((on|off)\))? \| ", HOWTO.partition("| gate |")[2], re.MULTILINE)
    found = {name: word for name, word in named if name in {**gates.DEFAULTS, **gates.ALIASES}}
    assert found == {
        "NodeResourceHotPlug": "",
        "NodeResourceHotUnPlug": "",
        "InPlaceNodeResourceResize": "",
        "OOMScoreRewrite": "on",
    }
