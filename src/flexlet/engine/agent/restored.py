"""Reading a checkpoint at start: a corrupt one is set aside as ``.bad`` and does not keep the agent down."""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from flexlet.errors import ConfigError, HostError, InputError
from flexlet.ports.checkpoints import Checkpoints

log: Final = logging.getLogger(__name__)
T = TypeVar("T")


async def restored(files: Checkpoints, name: str, parse: Callable[[bytes], T]) -> T | None:
    """What a checkpoint says, or None if there is none or it is corrupt."""
    try:
        raw = await files.load(name)
        return None if raw is None else parse(raw)
    except (InputError, ConfigError, HostError) as error:
        await _set_aside(files, name, error)
        return None


async def _set_aside(files: Checkpoints, name: str, why: Exception) -> None:
    try:
        kept = await files.set_aside(name)
    except HostError as error:
        log.error("ignoring the corrupt checkpoint %s: %s; %s", files.path(name), why, error)  # noqa: TRY400
    else:
        log.error("ignoring the corrupt checkpoint %s: %s; saved as %s", files.path(name), why, kept)
