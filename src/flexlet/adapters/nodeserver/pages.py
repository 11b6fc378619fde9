"""The pages that only tell: health, metrics, statistics, pods, configuration."""

import asyncio
from typing import Final

import msgspec

from flexlet.adapters.meters import Ledger
from flexlet.adapters.nodeserver import process, wire
from flexlet.adapters.nodeserver.routes import Route
from flexlet.adapters.nodeserver.usage import BRIEF, DETAILED, FULL, LEAN, Usage
from flexlet.adapters.nodeserver.wire import Answer, Request
from flexlet.core.stats import cadvisor, exposition, resource
from flexlet.core.stats.declared import PROBES
from flexlet.core.stats.exposition import Family
from flexlet.core.stats.summary import summary
from flexlet.errors import FlexletError
from flexlet.ports.nodeviews import NodeViews

NOSNIFF: Final = (("X-Content-Type-Options", "nosniff"),)
CHECKS: Final = ("ping", "log", "syncloop")


class Pages:
    """Answers by page."""

    def __init__(self, views: NodeViews, usage: Usage, ledger: Ledger) -> None:
        self._views = views
        self._usage = usage
        self._ledger = ledger

    async def answer(self, route: Route, request: Request) -> Answer:
        """Any page of this file."""
        match route.page:
            case "healthz":
                return self._health(route, request)
            case "pods":
                return Answer(body=self._views.desired_pods(), content_type=wire.JSON)
            case "runningpods":
                return Answer(body=self._views.running_pods(), content_type=wire.JSON)
            case "configz":
                body = b'{"kubeletconfig":' + self._views.configuration() + b"}"
                return Answer(body=body, content_type=wire.JSON, headers=NOSNIFF)
            case "stats":
                return await self._summary(request)
            case page:
                return await self._metrics(page)

    def _health(self, route: Route, request: Request) -> Answer:
        failing = {"syncloop": self._views.health()}
        return health(route.rest, request, CHECKS, {name: text for name, text in failing.items() if text})

    async def _summary(self, request: Request) -> Answer:
        brief = request.query.get("only_cpu_and_memory") == ["true"]
        reading = await self._usage.measure(self._views.to_measure(), BRIEF if brief else FULL)
        body = msgspec.json.encode(summary(reading, only_cpu_and_memory=brief))
        return Answer(body=body, content_type=wire.JSON)

    async def _metrics(self, page: str) -> Answer:
        match page:
            case "metrics/resource":
                found = await self._resource()
            case "metrics/cadvisor":
                source = self._views.to_measure()
                found = cadvisor.families(await self._usage.measure(source, DETAILED), source.machine)
            case "metrics/probes":
                found = [*self._ledger.families(PROBES), await asyncio.to_thread(process.start_time)]
            case _:
                found = [*self._ledger.families(), *await asyncio.to_thread(process.families)]
        return Answer(body=exposition.text(found), content_type=exposition.CONTENT_TYPE)

    async def _resource(self) -> list[Family]:
        try:
            return resource.families(await self._usage.measure(self._views.to_measure(), LEAN))
        except FlexletError:
            return resource.families(None)


def health(rest: tuple[str, ...], request: Request, checks: tuple[str, ...], failing: dict[str, str]) -> Answer:
    """All checks, or the one that is named; why something failed is told only when asked for by name."""
    if rest:
        reason = failing.get(rest[0])
        return wire.error(500, f"internal server error: {reason}") if reason else wire.text(200, "ok")
    excluded = request.query.get("exclude", [])
    lines = [_line(check, excluded, failing) for check in checks]
    if any(check not in excluded for check in failing):
        return wire.error(500, "".join(lines) + "healthz check failed")
    verbose = "".join(lines) + "healthz check passed\n" if "verbose" in request.query else "ok"
    return Answer(body=verbose.encode(), headers=NOSNIFF)


def _line(check: str, excluded: list[str], failing: dict[str, str]) -> str:
    if check in excluded:
        return f"[+]{check} excluded: ok\n"
    return f"[-]{check} failed: reason withheld\n" if check in failing else f"[+]{check} ok\n"
