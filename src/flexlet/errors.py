"""The one exception tree of flexlet, sorted by what the catcher can do about it.

A refusal ("does not fit now") is a value and never appears here; see `flexlet.core`. Exceptions are for the
world misbehaving, for input that cannot be read, and for our own bugs::

    FlexletError
     ├ ConfigError         you can fix it: flag, file, key, line
     │  └ InputError       a document or quantity that cannot be read; carries the path inside it
     ├ HostError           the kernel said no: path, value, errno
     │  ├ HostBusy         try again later
     │  └ HostUnsupported  stop asking
     ├ RuntimeFault        a CRI call failed: method, code, id
     ├ HypervisorError     QMP: command, class, description
     │  └ HypervisorGone   outcome unknown: query before retrying
     ├ ApiError            carries the Kubernetes Status (raised through `flexlet.api.status`)
     └ InvariantBroken     our bug: names the invariant

A message says what was tried, on what, what came back and what happens next.
"""


class FlexletError(Exception):
    """Base of every exception that flexlet raises on purpose."""


class ConfigError(FlexletError):
    """Something the user wrote cannot work; the message names it and says what to do."""


class InputError(ConfigError):
    """A document cannot be read; `path` points into it (``$.spec.containers[0].name``)."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.message} - at `{self.path}`"


class HostError(FlexletError):
    """The kernel refused a read or a write."""


class HostBusy(HostError):
    """The kernel refused for now; the same write may succeed later."""


class HostUnsupported(HostError):
    """The kernel will never do this on this host."""


class RuntimeFault(FlexletError):
    """A call to the container runtime failed; `code` is gRPC's word, such as NotFound, and `detail` its text."""

    def __init__(self, message: str, *, code: str = "Unknown", detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail or message


class HypervisorError(FlexletError):
    """The hypervisor refused a command."""


class HypervisorGone(HypervisorError):
    """The connection broke; whether the command took effect is unknown until queried."""


class InvariantBroken(FlexletError):
    """A bug in flexlet: something that must always hold did not."""
