"""``/containerLogs``: options, which run is meant, and its file as a stream.

As with the kubelet, everything that can be known beforehand is refused with a code; once the stream has begun,
trouble with the file is told as text in it.
"""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from flexlet.adapters.logfiles import follow
from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.connection import Reply, Streamed
from flexlet.adapters.nodeserver.routes import Route
from flexlet.adapters.nodeserver.wire import Request
from flexlet.core.logs.options import ALL_STREAMS, BadQuery, LogOptions, read_options
from flexlet.core.logs.runs import NoLogs, choose_run
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.nodeviews import ContainerView, NodeViews


class LogPages:
    """Answers requests for container logs."""

    def __init__(self, views: NodeViews, clock: Clock) -> None:
        self._views = views
        self._clock = clock

    def answer(self, route: Route, request: Request) -> Reply:
        """The log as a stream, or why there is none."""
        options = read_options(request.query, self._clock.now())
        if isinstance(options, BadQuery):
            return wire.text(options.code, options.message)
        pod = self._views.pod(route.namespace, route.pod)
        if pod is None:
            return wire.text(404, f'pod "{route.pod}" does not exist')
        container = pod.container(route.container)
        if container is None:
            return wire.text(404, f'container "{route.container}" not found in pod "{route.pod}"')
        if options.stream != ALL_STREAMS:
            hint = "Please enable PodLogsQuerySplitStreams feature gate in kubelet"
            return wire.text(400, f'unable to return the given log stream: "{options.stream}". {hint}')
        run = choose_run(pod.name, container.name, container.reported, previous=options.previous)
        if isinstance(run, NoLogs):
            return wire.text(400, run.message)
        return Streamed(self._stream(container, run, options))

    async def _stream(
        self, container: ContainerView, run_id: str, options: LogOptions
    ) -> AsyncGenerator[bytes, None]:
        path = next((run.log_path for run in container.runs if run.id == run_id), "")
        if not path:
            yield f"unable to retrieve container logs for {run_id}".encode()
            return
        log = follow.stream(Path(path), options, lambda: self._views.is_running(run_id))
        try:
            async with contextlib.aclosing(log) as pieces:
                async for data in pieces:
                    yield data
        except FlexletError as error:
            yield str(error).encode()
