"""The example of a NodeResizeConfiguration works, and has every field with its default."""

import yaml

from docs import generate
from flexlet.adapters import kubeletconfig
from flexlet.core.kubeletconfig.noderesize import NodeResizeConfiguration, to_value

EXAMPLE = generate.DOCS / "howto/node-resize.yaml"


def test_the_example_is_what_an_empty_file_means() -> None:
    assert kubeletconfig.load_resize(EXAMPLE) == NodeResizeConfiguration()
    assert set(yaml.safe_load(EXAMPLE.read_text())) == set(to_value(NodeResizeConfiguration()))


def test_the_reference_says_what_every_field_means() -> None:
    rows = [line.split(" | ") for line in "".join(generate.PARTS["node-resize-fields"]()).splitlines()[2:]]
    assert len(rows) == len(to_value(NodeResizeConfiguration())) - 2
    assert [row[0] for row in rows if len(row) != 3 or not row[2].rstrip(" |")] == []
