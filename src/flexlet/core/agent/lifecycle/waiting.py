"""Why a container waits: shown in its status, and told once."""

from typing import Final

from msgspec.structs import replace

from flexlet.core.agent import events
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.record import Backoff, Trouble

_TOLD_FOR_S: Final = 5.0
"""How long a failed pull is shown before the wait for the next one is."""


def for_image(draft: Draft, name: str, image: str, delay: Backoff, *, is_volume: bool = False) -> None:
    """For the next attempt to pull an image, its own or that of a volume."""
    draft.wake(delay.ends_at)
    shown = draft.record.troubles.get(name)
    if shown is not None and shown.at == delay.since and draft.now < delay.since + _TOLD_FOR_S:
        draft.wake(delay.since + _TOLD_FOR_S)
        return
    message = f'Back-off pulling image "{image}": {delay.why}'
    if trouble(draft, name, events.PULL_BACK_OFF, message):
        draft.tell(*events.pull_backed_off(draft.pod, name, image, is_volume=is_volume))


def trouble(draft: Draft, name: str, reason: str, message: str) -> bool:
    """Show why a container waits; whether that is news."""
    before = draft.record.troubles.get(name)
    found = Trouble(reason=reason, message=message, at=draft.now)
    if before is not None and replace(before, at=draft.now) == found:
        return False
    draft.change(troubles={**draft.record.troubles, name: found})
    return True
