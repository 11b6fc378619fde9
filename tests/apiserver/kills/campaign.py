"""One data directory, servers that use it one after another, and clients that compare every answer."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.apiserver.kills.launcher import Ended, Launcher, Process
from tests.apiserver.kills.load import Load

from flexlet.adapters.kube import kubeconfig

MOST = 60
"""Answers before a kill: counted, because on a busy machine no time would be long enough."""
START_S = 0.12
"""About what a start takes: a kill within it hits the start."""


class Campaign:
    """What is started, written, killed and compared."""

    def __init__(self, launch: Launcher, data: Path) -> None:
        self.launch = launch
        self.data = data
        self.source = random.Random()  # noqa: S311  other moments on every run, on purpose
        self._kubeconfig = data.with_name("kubeconfig")
        with self.server() as process:
            assert isinstance(process.url(), str)
        context = kubeconfig.ssl_context(kubeconfig.load(self._kubeconfig))
        self.load = Load(context, self.source)

    @contextmanager
    def server(
        self, data: Path | None = None, *, file_limit: int | None = None, fresh: bool = False
    ) -> Iterator[Process]:
        """A server on the directory, or on another; killed at the end."""
        arguments = ("server", "--data", str(data or self.data), "--write-kubeconfig", str(self._kubeconfig))
        with self.launch.run(*arguments, file_limit=file_limit, fresh=fresh) as process:
            yield process

    def round(
        self, *, file_limit: int | None = None, later: int | None = None, fresh: bool = False
    ) -> Ended | None:
        """Start, compare what is there, write, kill; how the server ended if it did not start.

        No file may be bigger than `file_limit` from the start on, or than `later` when clients write.
        """
        with self.server(file_limit=file_limit, fresh=fresh) as process:
            url = process.url()
            if isinstance(url, Ended):
                return url
            self.load.compare(url)
            if later is not None:
                process.limit(later)
            with self.load.on(url):
                self.load.wait(self.source.randrange(1, MOST))
                time.sleep(self.source.uniform(0, 0.01))
                process.signal()
                assert process.reap() == -signal.SIGKILL
        return None

    def killed_while_it_starts(self) -> None:
        """A kill at a moment when no client has seen the server yet."""
        with self.server() as process:
            time.sleep(self.source.uniform(0, START_S))
            process.signal()

    def check(self, data: Path | None = None) -> Ended:
        """What ``flexlet server check`` says of the directory, or of another."""
        return self.launch.finish("server", "check", str(data or self.data))

    def conclude(self) -> None:
        """At the end everything is as promised, the server stops on request, and nothing is damaged."""
        with self.server() as process:
            url = process.url()
            assert isinstance(url, str)
            self.load.compare(url)
            process.signal(signal.SIGTERM)
            ended = process.end()
            assert (ended.code, ended.errors) == (0, "")
        checked = self.check()
        assert (checked.code, checked.output.splitlines()[1:]) == (0, ["nothing is damaged"])
