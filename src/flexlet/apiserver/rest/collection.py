"""Deletecollection: everything a list would show is deleted, one object after the other.

The answer is the list as it was read, before anything went away.
"""

from flexlet.api import status
from flexlet.apiserver.rest import delete, listing
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.apiserver.rest.listing import Rows
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.rest.selection import Selection


async def delete_collection(
    backend: Backend, call: Call, listed: ListOptions, selection: Selection, options: DeleteOptions
) -> Rows:
    """Delete what is selected; objects that are gone already do not matter."""
    rows = await listing.list_rows(backend, call.kind, call.namespace, listed, selection)
    for row in rows.rows:
        one = call.named(row.key.rpartition("/")[2])
        try:
            await delete.delete(backend, one, options)
        except status.NotFound:
            continue
    return rows
