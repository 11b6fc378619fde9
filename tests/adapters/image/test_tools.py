"""What a host lacks for node VMs, and how it gets it."""

import os
from pathlib import Path

import pytest

from flexlet.adapters.image import program, tools
from flexlet.errors import ConfigError, HostError

ALL = ["e2fsprogs", "mmdebstrap", "qemu-system-x86", "qemu-utils"]
SOURCES = "deb http://mirror.test/debian bookworm main\n"
BACKPORTS = "deb http://mirror.test/debian bookworm-backports main"


class Host:
    """A host of fake programs under a folder; `apt-get` writes down how it was called."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.said: list[str] = []
        (root / "bin").mkdir()
        monkeypatch.setenv("PATH", str(root / "bin"))
        monkeypatch.setattr(program, "find", self.find)
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        (root / "etc/apt/sources.list.d").mkdir(parents=True)
        (root / "etc/apt/sources.list").write_text(SOURCES)
        (root / "etc/os-release").write_text("ID=debian\nVERSION_CODENAME=bookworm\n")

    def find(self, name: str) -> str:
        """Only what this host has, whatever the machine below it has."""
        path = self.root / "bin" / name
        return str(path) if path.exists() else ""

    def has(self, name: str, script: str = "exit 0") -> None:
        """Put a program there."""
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def calls(self) -> list[str]:
        """How apt-get was called."""
        return (self.root / "calls").read_text().splitlines()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path, monkeypatch)
    made.has("apt-get", f'echo "$@" >> {tmp_path}/calls')
    return made


def complete(host: Host, qemu: str = "10.0.2") -> None:
    """Install everything, with that version of QEMU."""
    for name in ("qemu-img", "mmdebstrap", "mke2fs"):
        host.has(name)
    host.has("qemu-system-x86_64", f"echo 'QEMU emulator version {qemu} (Debian 1:{qemu})'")


def test_a_bare_host_lacks_everything(host: Host) -> None:
    assert tools.missing(host.root) == ALL


def test_a_complete_host_lacks_nothing(host: Host) -> None:
    complete(host)
    assert tools.missing(host.root) == []
    tools.require(host.root)
    tools.install(host.said.append, host.root)
    assert host.said == []


@pytest.mark.parametrize(("version", "lacking"), [("7.2.22", ["qemu-system-x86"]), ("9.2.0", ["qemu-system-x86"])])
def test_an_old_qemu_is_none(host: Host, version: str, lacking: list[str]) -> None:
    """Older ones abort when a CPU is plugged again after an unplug."""
    complete(host, version)
    assert tools.missing(host.root) == lacking


def test_without_root_a_mapping_of_users_is_needed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    complete(host)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert tools.missing(host.root) == ["uidmap"]


def test_other_distributions_need_debians_keys(host: Host) -> None:
    complete(host)
    (host.root / "etc/os-release").write_text("ID=ubuntu\n")
    assert tools.missing(host.root) == ["debian-archive-keyring"]


def test_the_refusal_says_what_to_type(host: Host) -> None:
    with pytest.raises(ConfigError) as refusal:
        tools.require(host.root)
    assert str(refusal.value).splitlines() == [
        f"a node VM needs Debian packages that are not installed: {', '.join(ALL)}. As root:",
        f"  echo '{BACKPORTS}' > /etc/apt/sources.list.d/flexlet-backports.list",
        "  apt-get update",
        f"  apt-get install --no-install-recommends -t bookworm-backports {' '.join(ALL)}",
    ]


def test_installing_on_debian_12_adds_backports_at_the_hosts_mirror(host: Host) -> None:
    tools.install(host.said.append, host.root)
    entry = host.root / "etc/apt/sources.list.d/flexlet-backports.list"
    assert entry.read_text() == f"{BACKPORTS}\n"
    assert host.calls() == [
        "--quiet update",
        f"--quiet install --yes --no-install-recommends -t bookworm-backports {' '.join(ALL)}",
    ]
    assert host.said == [
        "adding the suite bookworm-backports to apt's sources as /etc/apt/sources.list.d/flexlet-backports.list",
        f"installing {', '.join(ALL)} with apt-get",
    ]


def test_installing_elsewhere_leaves_the_sources_alone(host: Host) -> None:
    """Debian 13 has a QEMU that is new enough; a host that knows backports already needs no second entry."""
    (host.root / "etc/os-release").write_text("ID=debian\nVERSION_CODENAME=trixie\n")
    tools.install(host.said.append, host.root)
    assert host.calls() == ["--quiet update", f"--quiet install --yes --no-install-recommends {' '.join(ALL)}"]
    (host.root / "etc/os-release").write_text("ID=debian\nVERSION_CODENAME=bookworm\n")
    (host.root / "etc/apt/sources.list").write_text(SOURCES + BACKPORTS)
    tools.install(host.said.append, host.root)
    assert [path.name for path in (host.root / "etc/apt/sources.list.d").iterdir()] == []


def test_installing_without_root_says_what_to_type(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ConfigError, match="apt-get install"):
        tools.install(host.said.append, host.root)


def test_backports_need_a_mirror(host: Host) -> None:
    (host.root / "etc/apt/sources.list").write_text("")
    with pytest.raises(ConfigError, match="no Debian mirror is configured"):
        tools.install(host.said.append, host.root)


def test_apts_last_words_are_in_the_error(host: Host) -> None:
    host.has("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(HostError, match=r"(?s)apt-get.*exit code 100: E: Unable to locate package"):
        tools.install(host.said.append, host.root)
