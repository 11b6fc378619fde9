"""Runs ``flexlet`` once per request without importing it again: it is imported here once, and forked from.

Importing takes two seconds, starting a server a tenth of one: only so do hundreds of starts fit into a test.
Requests and answers are JSON on the socket whose descriptor is the first argument; the two descriptors that come
with a request are the standard output and error of the process. Started by `launcher.py`.
"""

import json
import os
import resource
import socket
import sys

import flexlet.apiserver.control
import flexlet.apiserver.datacheck
import flexlet.apps.eventloop
import flexlet.apps.server  # noqa: F401  a command imports them when it runs, each of its children again
from flexlet.cli.main import main


def serve(channel: socket.socket) -> list[str] | None:
    """Answer requests until nobody is left to ask; in a child, the arguments it is to run with."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 2)
        if not message:
            return None
        request = json.loads(message)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        elif not (answer := os.fork()):
            channel.close()
            become(descriptors, request["file_limit"])
            return list(request["arguments"])
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(json.dumps(answer).encode())


def become(descriptors: list[int], file_limit: int | None) -> None:
    """Take the place of a process that a shell has started."""
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))


if __name__ == "__main__":
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments is not None:
        sys.argv = ["flexlet", *arguments]
        main()
