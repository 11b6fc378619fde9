"""What the server's log says of connections: faults of ours, and none of clients."""

import logging

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from flexlet.apiserver.http import listener


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [(ConnectionResetError("Connection lost"), False), (BadHttpMessage("no HTTP"), False), (KeyError("x"), True)],
)
def test_a_client_that_hangs_up_or_speaks_no_http_is_not_logged(error: Exception, is_logged: bool) -> None:
    told = (type(error), error, None)
    record = logging.LogRecord("x", logging.ERROR, "", 0, "Error handling request", (), told)
    assert listener._is_ours(record) is is_logged
