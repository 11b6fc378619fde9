"""Content negotiation: which representation a client takes.

JSON is always offered; YAML for everything but watches; Table and PartialObjectMetadata where the client names
them. Protobuf answers are not offered: clients that prefer them list JSON as well.
"""

from typing import Final

import msgspec

from flexlet.api import status

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
OFFERED: Final = f"{JSON}, {YAML}, {PROTOBUF}"
WATCHED: Final = f"{JSON};stream=watch, {PROTOBUF};stream=watch"
KNOWN_FORMS: Final = {
    ("Table", "meta.k8s.io", "v1"),
    ("Table", "meta.k8s.io", "v1beta1"),
    ("PartialObjectMetadata", "meta.k8s.io", "v1"),
    ("PartialObjectMetadata", "meta.k8s.io", "v1beta1"),
    ("PartialObjectMetadataList", "meta.k8s.io", "v1"),
    ("PartialObjectMetadataList", "meta.k8s.io", "v1beta1"),
}
DISCOVERY_FORM: Final = ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")


class Form(msgspec.Struct, frozen=True):
    """How to answer: a media type, and the shape the objects take in it (empty: their own)."""

    media: str = JSON
    shape: str = ""
    shape_version: str = ""


PLAIN: Final = Form()


class _Clause(msgspec.Struct, frozen=True):
    media: str
    parameters: dict[str, str]
    quality: float

    @property
    def shape(self) -> tuple[str, str, str]:
        get = self.parameters.get
        return get("as", ""), get("g", ""), get("v", "")


def choose(header: str | None, *, watch: bool = False, discovery: bool = False, collection: bool = False) -> Form:
    """The best form on offer, or 406."""
    if not header or header in {JSON, "*/*", "application/json, */*"}:
        return PLAIN
    clauses = _clauses(header)
    for clause in clauses:
        media = _media(clause.media, watch=watch)
        if not media:
            continue
        if not clause.shape[0]:
            return Form(media)
        if clause.shape in KNOWN_FORMS or (discovery and clause.shape == DISCOVERY_FORM):
            return Form(media, clause.shape[0], clause.shape[2])
    raise _refused(clauses, watch=watch, collection=collection)


def plain_media(header: str | None) -> str:
    """JSON or YAML for a Status that goes back to this client; never refused."""
    if header and header.split(",")[0].split(";")[0].strip() == YAML:
        return YAML
    return JSON


def _media(media: str, *, watch: bool) -> str:
    if media in {"*/*", "application/*", JSON}:
        return JSON
    return YAML if media == YAML and not watch else ""


def _refused(clauses: list[_Clause], *, watch: bool, collection: bool) -> status.ApiError:
    """Upstream has two texts: one for media types nobody offers, one for forms of a known type."""
    if watch:
        message = f"only the following media types are accepted: {WATCHED}"
        return status.failure(406, "NotAcceptable", message)
    if any(clause.media in {JSON, YAML, PROTOBUF} for clause in clauses):
        return status.failure(406, "NotAcceptable", f"only the following media types are accepted: {OFFERED}")
    return not_acceptable(f"{OFFERED}, {WATCHED}" if collection else OFFERED)


def not_acceptable(offered: str) -> status.ApiError:
    """406 of a path that offers other media types than were asked for."""
    message = f"406: Not Acceptable\n\nAvailable representations: {offered}"
    return status.failure(406, "NotAcceptable", message, status.StatusDetails())


def _clauses(header: str) -> list[_Clause]:
    """The clauses of an Accept header, best first; the order of equals is kept."""
    found = [_clause(text) for text in header.split(",") if text.strip()]
    return sorted(found, key=lambda clause: -clause.quality)


def _clause(text: str) -> _Clause:
    media, *rest = (piece.strip() for piece in text.split(";"))
    parameters = dict(piece.split("=", 1) for piece in rest if "=" in piece)
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 0.0
    return _Clause(media.lower(), parameters, quality)
