"""List: which rows, as of which revision, how many at a time."""

import asyncio
from typing import Final

import msgspec

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.rest import listoptions, naming, paging
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.listoptions import EXACT, ListOptions
from flexlet.apiserver.rest.selection import Selection
from flexlet.apiserver.store.errors import Compacted
from flexlet.apiserver.store.rows import Row

AT_ONCE: Final = 500
FUTURE_WAIT_S: Final = 3.0
EXPIRED_LIST: Final = "The resourceVersion for the provided list is too old."
EXPIRED_PAGE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class Rows(msgspec.Struct, frozen=True):
    """A list or a page of one, still as rows."""

    kind: Kind
    rows: list[Row]
    revision: int
    continue_: str = ""
    remaining: int | None = None


async def list_rows(
    backend: Backend, kind: Kind, namespace: str, options: ListOptions, selection: Selection
) -> Rows:
    """The rows a list request means."""
    listoptions.check(options, watch=False)
    prefix = f"{namespace}/" if namespace else ""
    if options.continue_:
        return await _next_page(backend, kind, prefix, options, selection)
    asked = await reach(backend, options.resource_version)
    if options.match == EXACT:
        return await _at(backend, kind, prefix, options, selection, asked)
    limit = 0 if options.resource_version == "0" else options.limit
    return await _page(backend, kind, prefix, selection, limit, paging.Token("", backend.store.revision))


def _asked(text: str) -> int:
    if not text or text == "0":
        return 0
    if not naming.is_uint(text):
        detail = f"resourceVersion: Invalid value: {naming.text_of(text)}: {naming.uint_error(text)}"
        raise status.bad_request(f"invalid resource version: {detail}")
    return int(text)


async def reach(backend: Backend, text: str) -> int:
    """The version a client asks for; one that is yet to come is waited for a little."""
    revision = _asked(text)
    if revision <= backend.store.revision:
        return revision
    try:
        async with asyncio.timeout(FUTURE_WAIT_S):
            await backend.store.wait_for(revision)
    except TimeoutError:
        raise too_large(revision, backend.store.revision) from None
    return revision


def too_large(asked: int, current: int) -> status.ApiError:
    """504: the client knows a version that this store has not reached."""
    cause = status.StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")
    details = status.StatusDetails(causes=(cause,), retry_after_seconds=1)
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return status.failure(504, "Timeout", message, details)


async def _at(
    backend: Backend, kind: Kind, prefix: str, options: ListOptions, selection: Selection, revision: int
) -> Rows:
    try:
        return await _page(backend, kind, prefix, selection, options.limit, paging.Token("", revision))
    except Compacted:
        raise status.failure(410, "Expired", EXPIRED_LIST) from None


async def _next_page(
    backend: Backend, kind: Kind, prefix: str, options: ListOptions, selection: Selection
) -> Rows:
    if options.resource_version not in {"", "0"}:
        raise status.bad_request("specifying resource version is not allowed when using continue")
    token = paging.read(options.continue_)
    if token.revision == paging.INCONSISTENT:
        token = paging.Token(token.after, backend.store.revision)
    try:
        return await _page(backend, kind, prefix, selection, options.limit, token)
    except Compacted:
        raise _expired(token) from None


def _expired(token: paging.Token) -> status.ApiError:
    resume = paging.write(paging.Token(token.after, paging.INCONSISTENT))
    metadata = status.ListMeta(continue_=resume)
    return status.Gone(status.Status(metadata=metadata, message=EXPIRED_PAGE, reason="Expired", code=410))


async def _page(
    backend: Backend, kind: Kind, prefix: str, selection: Selection, limit: int, token: paging.Token
) -> Rows:
    bucket = kind.storage_bucket
    after = prefix + token.after if token.after else ""
    count = limit if limit > 0 and selection.everything else None
    page = backend.store.page(bucket, prefix, after_key=after, limit=count, at_revision=token.revision)
    if selection.everything:
        return _cut(kind, prefix, page.rows, page.revision, page.remaining)
    rows: list[Row] = []
    for index, row in enumerate(page.rows):
        if index % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(0)  # the page is of one revision whatever is written meanwhile
        if selection.matches(row):
            rows.append(row)
        if len(rows) == limit > 0 and index + 1 < len(page.rows):
            # What follows may or may not match: only the next page will tell.
            return Rows(kind, rows, page.revision, _continue(prefix, rows[-1], page.revision))
    return Rows(kind, rows, page.revision)


def _cut(kind: Kind, prefix: str, rows: list[Row], revision: int, remaining: int) -> Rows:
    if not remaining:
        return Rows(kind, rows, revision)
    return Rows(kind, rows, revision, _continue(prefix, rows[-1], revision), remaining)


def _continue(prefix: str, last: Row, revision: int) -> str:
    return paging.write(paging.Token(last.key.removeprefix(prefix), revision))
