"""Where this host gets its Debian packages from: the only source of addresses for what we build.

Separate because it is the promise that no mirror's name is written into the project: the address is read from the
host's apt configuration (sources.list(5): one-line `deb` entries and deb822 stanzas) each time it is needed, and
our code names suites only. Other suites of Debian answer at the address of the host's own. A host that is not
Debian has no such address; there the tools' own defaults apply.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

_ALIASES = {"stable", "testing", "unstable", "sid", "oldstable"}
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)\s*(?P<components>[^#]*)")


class Source(msgspec.Struct, frozen=True):
    """One enabled binary source of packages."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""

    def line(self, suite: str) -> str:
        """A one-line entry for another suite at the same address."""
        options = f"[signed-by={self.signed_by}] " if self.signed_by else ""
        return f"deb {options}{self.uri} {suite} main"


def parse_lines(text: str) -> Iterator[Source]:
    """The sources in one-line style."""
    for line in text.splitlines():
        if found := _ONE_LINE.match(line.strip()):
            options = dict(part.split("=", 1) for part in (found["options"] or "").split() if "=" in part)
            yield Source(found["uri"], (found["suite"],), tuple(found["components"].split()), _path(options))


def parse_deb822(text: str) -> Iterator[Source]:
    """The sources in deb822 style; disabled stanzas are left out."""
    for fields in map(_fields, re.split(r"\n[ \t]*\n", text)):
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        for uri in fields.get("uris", "").split():
            suites, components = fields.get("suites", "").split(), fields.get("components", "").split()
            yield Source(uri, tuple(suites), tuple(components), _path(fields))


def of_host(root: Path = Path("/")) -> Source | None:
    """Where this host's own release comes from, or None where no Debian mirror is configured."""
    release = _os_release(root)
    if release.get("ID") != "debian":
        return None
    wanted = {release.get("VERSION_CODENAME", ""), *_ALIASES}
    return next((source for source in _configured(root) if _is_archive(source, wanted)), None)


def codename(root: Path = Path("/")) -> str:
    """The release that this host runs, such as `bookworm`; empty if it is not Debian."""
    release = _os_release(root)
    return release.get("VERSION_CODENAME", "") if release.get("ID") == "debian" else ""


def has_suite(suite: str, root: Path = Path("/")) -> bool:
    """Whether the host's apt already knows the suite."""
    return any(suite in source.suites for source in _configured(root))


def _is_archive(source: Source, wanted: Iterable[str]) -> bool:
    return (
        "main" in source.components and not source.uri.startswith("cdrom:") and bool({*source.suites} & {*wanted})
    )


def _configured(root: Path) -> Iterator[Source]:
    etc = root / "etc/apt"
    for path in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        yield from parse_lines(path.read_text()) if path.exists() else ()
    for path in sorted(etc.glob("sources.list.d/*.sources")):
        yield from parse_deb822(path.read_text())


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    key = ""
    for line in stanza.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] in " \t":
            fields[key] = f"{fields.get(key, '')} {line.strip()}"
        else:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()
    return fields


def _path(options: Mapping[str, str]) -> str:
    # An inline key block is no path; the system's keyrings are asked then.
    value = options.get("signed-by", "")
    return value if value.startswith("/") and " " not in value else ""


def _os_release(root: Path) -> dict[str, str]:
    try:
        text = (root / "etc/os-release").read_text()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key: value.strip("\"'") for key, _, value in pairs}
