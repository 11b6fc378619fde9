"""What the pages say about virtual machines: every metric is named with its type, and every file is there."""

import re

import msgspec
from tests.docs import pages
from tests.docs.test_balloons import ROW, _place

from flexlet.api import decode
from flexlet.core.vm import config, exposition
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.tally import Tally
from flexlet.core.vm.validation import complaints


def test_every_metric_of_machines_is_documented() -> None:
    page = (pages.DOCS / "reference/metrics.md").read_text()
    page = page.partition("## Virtual machines")[2].partition("\n## ")[0]
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", exposition.render(Tally()), re.MULTILINE))
    wanted = [(name, kinds[name], text) for name, text in exposition.HELP.items()]
    assert ROW.findall(page) == wanted


def test_every_file_that_the_page_names_is_there() -> None:
    page = (pages.DOCS / "keps/kubevirt.md").read_text()
    named = set(re.findall(r"`((?:tests|core|engine|ports|adapters)/[\w./]+)`", page))
    assert len(named) > 20
    assert [name for name in sorted(named) if not _place(name).exists()] == []


def test_the_machine_of_the_tutorial_has_nothing_to_complain_about() -> None:
    vm = decode.from_value(msgspec.yaml.decode((pages.DOCS / "tutorial/vm.yaml").read_bytes()), FlexVM)
    assert complaints(vm, Settings()) == []


def test_the_settings_of_the_page_can_be_read() -> None:
    (text,) = pages.blocks(pages.DOCS / "howto/vms.md", "yaml")
    assert config.read(msgspec.yaml.decode(text), "vms.md") == Settings()
