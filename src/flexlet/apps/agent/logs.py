"""How the agent logs: as text for people, or as JSON lines with the keys of Kubernetes' components."""

import json
import logging
from typing import Any

from flexlet.core.kubeletconfig.config import Logging

_INFO = 1
_DEBUG = 4


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time in milliseconds, logger, message, and the error if there is one."""
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "logger": record.name,
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
        }
        if record.exc_info:
            line["err"] = self.formatException(record.exc_info)
        return json.dumps(line)


def level(settings: Logging, *, verbose: bool) -> int:
    """Of the libraries: warnings only, unless somebody wants to know more."""
    if settings.verbosity >= _DEBUG:
        return logging.DEBUG
    return logging.INFO if verbose or settings.verbosity >= _INFO else logging.WARNING


def configure(settings: Logging, *, verbose: bool = False) -> None:
    """Log to stderr from now on; what the agent itself does is logged at any verbosity, as the kubelet does."""
    handler = logging.StreamHandler()
    if settings.format == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    chosen = level(settings, verbose=verbose)
    logging.basicConfig(level=chosen, handlers=[handler], force=True)
    logging.getLogger("flexlet").setLevel(min(chosen, logging.INFO))
