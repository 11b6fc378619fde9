"""Health checks: ``/healthz``, ``/livez``, ``/readyz``, each with its checks and ``?verbose``.

kube-apiserver withholds the reason of a failed check. Here ``?verbose`` tells it: it names a file and what
the disk said about it, and whoever operates the server looks here first. A server that cannot write is alive:
starting it again makes no space on the disk, so ``/livez`` asks for less than the others.
"""

from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from flexlet.apiserver.http import answers

Check = Callable[[], str]
"""Empty when all is well, otherwise what is wrong."""


LIVENESS: Final = "livez"


class Health:
    """Named checks."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._alive: dict[str, Check] = {"ping": lambda: ""}
        self._checks = {**self._alive, **checks}

    def serve(self, parts: tuple[str, ...], *, verbose: bool) -> web.Response:
        """Answer for ``healthz`` or ``healthz/CHECK``."""
        checks = self._alive if parts[0] == LIVENESS else self._checks
        if len(parts) > 2 or (len(parts) == 2 and parts[1] not in checks):
            return answers.page_not_found()
        names = parts[1:] or tuple(checks)
        wrong = {name: text if verbose else "reason withheld" for name in names if (text := checks[name]())}
        if not wrong and not verbose:
            return answers.plain("ok")
        lines = [f"[-]{name} failed: {wrong[name]}" if name in wrong else f"[+]{name} ok" for name in names]
        verdict = f"{parts[0]} check failed" if wrong else f"{parts[0]} check passed"
        return answers.plain("\n".join([*lines, verdict, ""]), 500 if wrong else 200)
