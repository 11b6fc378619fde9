"""The query parameters of list, watch and deletecollection, and which of them contradict each other."""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api import fielderrors, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.rest import naming

EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to list or watch, from where, how much at a time."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int | None = None


EVERYTHING: Final = ListOptions()


def parse(query: Mapping[str, str]) -> ListOptions:
    """Read the query; numbers that are none are a 400."""
    if not query:
        return EVERYTHING
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        watch=flag(query, "watch") or False,
        allow_bookmarks=flag(query, "allowWatchBookmarks") or False,
        send_initial_events=flag(query, "sendInitialEvents"),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        limit=number(query, "limit") or 0,
        continue_=query.get("continue", ""),
        timeout_seconds=number(query, "timeoutSeconds"),
    )


def flag(query: Mapping[str, str], name: str) -> bool | None:
    """A boolean parameter as upstream reads it: present means true, unless it says ``false`` or ``0``."""
    text = query.get(name)
    return None if text is None else text.lower() not in {"false", "0"}


def number(query: Mapping[str, str], name: str) -> int | None:
    """An integer parameter; anything else is a 400 in the words of upstream's parser."""
    text = query.get(name)
    if text is None or not text:
        return None
    digits = text.removeprefix("-").removeprefix("+")
    if not digits.isascii() or not digits.isdigit():
        raise status.bad_request(f"strconv.ParseInt: parsing {naming.text_of(text)}: invalid syntax")
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise status.bad_request(f"strconv.ParseInt: parsing {naming.text_of(text)}: value out of range")
    return value


def check(options: ListOptions, *, watch: bool) -> None:
    """Refuse combinations that mean nothing: 422 on ListOptions."""
    errors = _watch_errors(options) if watch else _list_errors(options)
    if errors:
        raise status.invalid("ListOptions", "meta.k8s.io", "", errors)


def _list_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match, revision = options.match, options.resource_version
    if match:
        if not revision:
            found.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_:
            found.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if match not in {EXACT, NOT_OLDER}:
            found.append(fielderrors.not_supported("resourceVersionMatch", match, (EXACT, NOT_OLDER, "")))
        if match == EXACT and revision == "0":
            found.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        detail = "sendInitialEvents is forbidden for list"
        found.append(fielderrors.forbidden("sendInitialEvents", detail))
    return found


def _watch_errors(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    match, initial = options.match, options.send_initial_events
    if match and initial is None:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        found.append(_forbidden(detail))
    if initial is not None:
        if match != NOT_OLDER:
            detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            found.append(_forbidden(detail))
            if match:
                found.append(fielderrors.not_supported("resourceVersionMatch", match, (NOT_OLDER,)))
        if options.continue_:
            found.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return found


def _forbidden(detail: str) -> FieldError:
    return fielderrors.forbidden("resourceVersionMatch", detail)
