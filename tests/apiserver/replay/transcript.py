"""Transcripts of a real server: one request and its answer a line, in order."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

HTTP: Final = Path(__file__).parents[2] / "data" / "http"
APPLY: Final = "application/apply-patch+yaml"
STAGES: Final = Path(__file__).with_name("stages")
FILES: Final = tuple(sorted(path.stem for path in HTTP.glob("*.jsonl") if (STAGES / f"{path.stem}.py").exists()))


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A request and what the real server answered."""

    seq: int
    client: str
    method: str
    path: str
    status: int
    as_user: str = ""
    query: dict[str, Any] = {}
    request_headers: dict[str, str] = {}
    request_body: Any = None
    response_headers: dict[str, Any] = {}
    response_body: Any = None

    def __post_init__(self) -> None:
        """How often a bookmark is repeated is a matter of time: once is enough."""
        if self.watches:
            events = self.response_body or []
            kept = [event for index, event in enumerate(events) if event not in events[max(index - 1, 0) : index]]
            msgspec.structs.force_setattr(self, "response_body", kept)

    @property
    def applies(self) -> bool:
        """Whether this is a server-side apply that changed something."""
        media = self.request_headers.get("Content-Type")
        return media == APPLY and self.status < 300 and "dryRun" not in self.query

    @property
    def watches(self) -> bool:
        """Whether the answer is a stream of events."""
        asked = self.query.get("watch") in {"1", "true"} or "/watch/" in self.path
        return asked and self.status == 200 and not isinstance(self.response_body, dict)


def lines(name: str, generated: Mapping[str, str] = MappingProxyType({})) -> tuple[Line, ...]:
    """All lines of a transcript that are requests; `generated` texts become placeholders."""
    text = (HTTP / f"{name}.jsonl").read_text()
    for value, placeholder in generated.items():
        text = text.replace(value, placeholder)
    found = (msgspec.json.decode(line, type=Line) for line in text.splitlines())
    return tuple(line for line in found if line.method != "NOTE")
