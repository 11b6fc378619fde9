"""Reference pages follow from the code: nothing that users meet is missing there."""

import re
from typing import Any, cast

import click

from docs import generate
from flexlet.apiserver.admission.chain import default_plugins
from flexlet.cli.main import cli
from flexlet.core import gates

REFERENCE = generate.DOCS / "reference"
UNKNOWN = cast("Any", None)


def read(name: str) -> str:
    return (REFERENCE / name).read_text()


def test_generated_parts_are_what_the_code_says() -> None:
    """If this fails, run `python docs/generate.py` and look at the difference."""
    assert generate.outdated() == []


def test_every_part_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in generate.DOCS.rglob("*.md"))
    assert set(re.findall(r"<!-- generated: (\S+) -->", pages)) == set(generate.PARTS)


def test_every_option_is_documented() -> None:
    """Every name of every option of every command, under its command's heading."""
    sections = dict(re.findall(r"^## (flexlet .+)\n(?s:(.*?))(?=^## |\Z)", read("commands.md"), re.MULTILINE))
    missing = [
        (context.command_path, name)
        for context in generate.leaves(click.Context(cli, info_name="flexlet"))
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
        if name not in sections[context.command_path]
    ]
    assert missing == []


def test_every_feature_gate_is_documented_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (on|off) \|", read("api-coverage.md"), re.MULTILINE))
    assert rows == {name: "on" if enabled else "off" for name, enabled in gates.DEFAULTS.items()}


def test_admission_plugins_are_listed_in_their_order() -> None:
    plugins = default_plugins(
        gates.DEFAULTS, authorizer=UNKNOWN, quota_writer=UNKNOWN, clock=UNKNOWN, source=UNKNOWN
    )
    listed = re.search(r"Admission, in this order: (.*?)\.\n", read("api-coverage.md"), re.DOTALL)
    assert listed is not None
    assert [name.strip() for name in listed[1].split(",")] == [plugin.name for plugin in plugins]
