"""Health checks: ``/healthz``, ``/livez``, ``/readyz``, each with its checks and ``?verbose``."""

from collections.abc import Callable, Mapping

from aiohttp import web

from flexlet.apiserver.http import answers

Check = Callable[[], str]
"""Empty when all is well, otherwise what is wrong."""


class Health:
    """Named checks; `ready` may change while the server starts and stops."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = {"ping": lambda: "", **checks}

    def serve(self, parts: tuple[str, ...], *, verbose: bool) -> web.Response:
        """Answer for ``healthz`` or ``healthz/CHECK``."""
        if len(parts) > 2 or (len(parts) == 2 and parts[1] not in self._checks):
            return answers.page_not_found()
        names = parts[1:] or tuple(self._checks)
        wrong = {name: text for name in names if (text := self._checks[name]())}
        if not wrong and not verbose:
            return answers.plain("ok")
        lines = [f"[-]{name} failed: reason withheld" if name in wrong else f"[+]{name} ok" for name in names]
        verdict = f"{parts[0]} check failed" if wrong else f"{parts[0]} check passed"
        return answers.plain("\n".join([*lines, verdict, ""]), 500 if wrong else 200)
