import pytest

from flexlet.core.machine import udev
from flexlet.core.machine.snapshot import Snapshot

CPU = 'SUBSYSTEM=="cpu", ACTION=="add", TEST=="online", ATTR{online}=="0", ATTR{online}="1"\n'
MEMORY = 'SUBSYSTEM=="memory", ACTION=="add", PROGRAM="/bin/uname -p", RESULT!="s390*", ATTR{state}="online"\n'
GUARDED = """
ACTION!="add", GOTO="end"
SUBSYSTEM!="memory", GOTO="end"
ENV{.state}="online"
ATTR{state}=="offline", \\
  ATTR{state}="$env{.state}"
LABEL="end"
"""


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        (CPU, {"cpu"}),
        (MEMORY, {"memory"}),
        (CPU + MEMORY, {"cpu", "memory"}),
        ('SUBSYSTEM=="cpu|memory", ACTION=="add", RUN+="/usr/bin/bring-online %k"', {"cpu", "memory"}),
        (GUARDED, {"memory"}),
        (f"# {CPU}", set()),
        ('SUBSYSTEM=="block", ATTR{state}="online"', set()),
        ('SUBSYSTEM=="memory", ATTR{state}=="online", TAG+="systemd"', set()),
        ('SUBSYSTEM=="memory", ATTR{state}="offline"', set()),
        ('SUBSYSTEM=="cpu", MODALIAS=="x", RUN{builtin}+="kmod load"', set()),
        ("", set()),
    ],
)
def test_rules_that_bring_parts_online(rules: str, kinds: set[str]) -> None:
    assert udev.onlines(Snapshot(texts={"/etc/udev/rules.d/40-hotplug.rules": rules})) == kinds


def test_a_file_hides_those_of_its_name() -> None:
    """An empty file in /etc turns off what the distribution ships, however the files come."""
    shipped, own = "/usr/lib/udev/rules.d/40-a.rules", "/etc/udev/rules.d/40-a.rules"
    other = "/lib/udev/rules.d/40-b.rules"
    assert udev.onlines(Snapshot(texts={shipped: CPU, own: "", other: MEMORY})) == {"memory"}
    assert udev.onlines(Snapshot(texts={own: "", other: MEMORY, shipped: CPU})) == {"memory"}
