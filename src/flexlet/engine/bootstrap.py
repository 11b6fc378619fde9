"""The first certificate of a node, asked for with credentials that are good for nothing else (TLS bootstrap).

The key waits on disk and the request is named after it, so that a node that is started again takes up the request
that somebody may have approved meanwhile. Trouble with the server is waited out; a refusal ends the attempt, with
a message for whoever can do something about it.
"""

import asyncio
import logging
from typing import Final

from flexlet.api.status import AlreadyExists, ApiError, Forbidden, Unauthorized
from flexlet.core.certificates import rotation
from flexlet.core.certificates.answers import Answer, Issued, Pending, Refused, identity
from flexlet.core.certificates.rotation import Asked
from flexlet.core.certificates.wanted import Wanted
from flexlet.engine.certificates import CSRS, outcome, submit
from flexlet.errors import ConfigError
from flexlet.ports.certificates import CertificateStore, Draft
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster

log: Final = logging.getLogger(__name__)


async def first_certificate(cluster: Cluster, clock: Clock, store: CertificateStore, wanted: Wanted) -> None:
    """Ask until there is a certificate, and keep it.

    Raises:
        ConfigError: the credentials are refused, or the request is, or nobody approves it within an hour.
    """
    # An old request may bring an old certificate; then a new key brings a new one.
    for _ in range(2):
        draft = await store.first_draft(wanted)
        asked = await _asked(cluster, clock, wanted, draft)
        found = await _within(cluster, clock, asked)
        if isinstance(found, Refused):
            await store.forget_key()
        if not isinstance(found, Issued):
            raise ConfigError(_complaint(asked, found))
        if rotation.is_valid(await store.save(found.certificate, draft.key), clock.now()):
            return
    raise ConfigError(f"the certificate for {wanted.common_name} ended before it came; set this machine's clock")


async def _asked(cluster: Cluster, clock: Clock, wanted: Wanted, draft: Draft) -> Asked:
    """The request as the server knows it, however long it takes to get through."""
    failures = 0
    while True:
        try:
            return await _submitted(cluster, wanted, draft, clock.now() + rotation.FIRST_PATIENCE_S)
        except (Unauthorized, Forbidden) as error:
            remedy = "get a new bootstrap token, or bind its group to system:node-bootstrapper"
            raise ConfigError(f"the bootstrap credentials are refused: {error}; {remedy}") from error
        except ApiError as error:
            failures += 1
            log.warning("cannot ask for a certificate yet", extra={"error": str(error)})
            await clock.sleep(rotation.pause(failures))


async def _submitted(cluster: Cluster, wanted: Wanted, draft: Draft, until: float) -> Asked:
    try:
        return await submit(cluster, wanted, draft, until)
    except AlreadyExists:
        name, uid = identity(await cluster.get(CSRS, "", draft.name))
        return Asked(name=name, uid=uid, wanted=wanted, until=until)


async def _within(cluster: Cluster, clock: Clock, asked: Asked) -> Answer:
    async with asyncio.TaskGroup() as group:
        follow = group.create_task(outcome(cluster, clock, asked))
        alarm = group.create_task(clock.sleep(asked.until - clock.now()))
        await asyncio.wait((follow, alarm), return_when=asyncio.FIRST_COMPLETED)
        found = follow.result() if follow.done() else Pending()
        follow.cancel()
        alarm.cancel()
    return found


def _complaint(asked: Asked, found: Answer) -> str:
    if isinstance(found, Refused):
        return f"no certificate for {asked.wanted.common_name}: {found.why}"
    remedy = f"`kubectl certificate approve {asked.name}`, or let the controller manager do it"
    return f"nobody approved the request {asked.name} within an hour; {remedy}"
