"""The runtime and the API with a stop-watch: how often they are called, how long that takes, how often it fails.

One wrapper around each port, so it counts the same for every adapter. Operations have the kubelet's names; a look
over everything counts as a list of sandboxes, a look at one pod as the status of its sandbox.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from flexlet.api.status import ApiError
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster
from flexlet.ports.meters import Meters
from flexlet.ports.runtime import Runtime

OPERATIONS: Final = {
    "version": "version",
    "status": "status",
    "overview": "list_podsandbox",
    "inspect": "podsandbox_status",
    "cgroup_driver": "runtime_config",
    "run_sandbox": "run_podsandbox",
    "stop_sandbox": "stop_podsandbox",
    "remove_sandbox": "remove_podsandbox",
    "update_sandbox": "update_podsandbox_resources",
    "update_pod_cidr": "update_runtime_config",
    "create_container": "create_container",
    "start_container": "start_container",
    "stop_container": "stop_container",
    "remove_container": "remove_container",
    "update_container": "update_container",
    "exec_sync": "exec_sync",
    "reopen_log": "reopen_container_log",
    "exec_url": "exec",
    "attach_url": "attach",
    "port_forward_url": "port_forward",
    "image": "image_status",
    "images": "list_images",
    "pull": "pull_image",
    "remove_image": "remove_image",
    "image_filesystems": "image_fs_info",
}
"""Methods of the port, and what they are called in ``kubelet_runtime_operations_total``."""

VERBS: Final = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "patch": "PATCH",
    "update": "PUT",
    "delete": "DELETE",
}
"""Methods of the API's port, and their HTTP verbs."""

Call = Callable[..., Awaitable[Any]]


def timed(runtime: Runtime, meters: Meters, clock: Clock) -> Runtime:
    """The same runtime, counted."""
    return cast("Runtime", _Timed(runtime, meters, clock))


def counted(cluster: Cluster, meters: Meters, clock: Clock, host: str) -> Cluster:
    """The same API, counted; a watch counts when it is asked for."""
    return cast("Cluster", _Counted(cluster, meters, clock, host))


class _Counted:
    def __init__(self, cluster: Cluster, meters: Meters, clock: Clock, host: str) -> None:
        self._cluster = cluster
        self._meters = meters
        self._clock = clock
        self._host = host
        for method, verb in VERBS.items():
            setattr(self, method, self._timed(getattr(cluster, method), verb))

    def watch(self, *args: Any, **kwargs: Any) -> Any:
        self._answered("GET", 200)
        return self._cluster.watch(*args, **kwargs)

    def _timed(self, call: Call, verb: str) -> Call:
        labels, clock = {"host": self._host, "verb": verb}, self._clock

        async def timed(*args: Any, **kwargs: Any) -> Any:
            began = clock.monotonic()
            try:
                found = await call(*args, **kwargs)
            except ApiError as error:
                self._answered(verb, error.code)
                raise
            finally:
                self._meters.observe("rest_client_request_duration_seconds", labels, clock.monotonic() - began)
            self._answered(verb, 201 if verb == "POST" else 200)
            return found

        return timed

    def _answered(self, verb: str, code: int) -> None:
        labels = {"code": str(code), "host": self._host, "method": verb}
        self._meters.count("rest_client_requests_total", labels)


class _Timed:
    def __init__(self, runtime: Runtime, meters: Meters, clock: Clock) -> None:
        self._meters = meters
        self._clock = clock
        self._looked_at: float | None = None
        self.events = runtime.events
        for method, operation in OPERATIONS.items():
            setattr(self, method, self._counted(getattr(runtime, method), {"operation_type": operation}))
        self.overview = self._relisting(self.overview)
        self.inspect = self._looking(self.inspect)

    overview: Call
    inspect: Call

    def _counted(self, call: Call, labels: dict[str, str]) -> Call:
        meters, clock = self._meters, self._clock

        async def counted(*args: Any, **kwargs: Any) -> Any:
            began = clock.monotonic()
            meters.count("kubelet_runtime_operations_total", labels)
            try:
                return await call(*args, **kwargs)
            except RuntimeFault:
                meters.count("kubelet_runtime_operations_errors_total", labels)
                raise
            finally:
                meters.observe("kubelet_runtime_operations_duration_seconds", labels, clock.monotonic() - began)

        return counted

    def _relisting(self, call: Call) -> Call:
        """A look over everything is what the kubelet calls a relist."""

        async def relisted() -> Any:
            began = self._clock.monotonic()
            if self._looked_at is not None:
                self._meters.observe("kubelet_pleg_relist_interval_seconds", value=began - self._looked_at)
            self._looked_at = began
            found = await call()
            self._meters.observe("kubelet_pleg_relist_duration_seconds", value=self._clock.monotonic() - began)
            return found

        return relisted

    def _looking(self, call: Call) -> Call:
        async def looked(uid: str) -> Any:
            began = self._clock.monotonic()
            found = await call(uid)
            self._meters.observe("kubelet_pleg_pod_relist_duration_seconds", value=self._clock.monotonic() - began)
            return found

        return looked
