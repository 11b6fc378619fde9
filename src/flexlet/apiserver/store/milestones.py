"""Those who wait until a revision is committed."""

import asyncio

from flexlet.apiserver.store.errors import StoreClosed


class Milestones:
    """Revisions that somebody waits for."""

    def __init__(self) -> None:
        self._awaited: list[tuple[int, asyncio.Future[None]]] = []

    def awaited(self, revision: int) -> asyncio.Future[None]:
        """Done when the revision is committed."""
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited.append((revision, reached))
        return reached

    def reached(self, revision: int) -> None:
        """Wake everybody who waited for this revision or an earlier one; who has gone is forgotten."""
        if not self._awaited:
            return
        for wanted, waiter in self._awaited:
            if wanted <= revision and not waiter.done():
                waiter.set_result(None)
        self._awaited = [entry for entry in self._awaited if not entry[1].done()]

    def give_up(self) -> None:
        """No more revisions come."""
        for _, waiter in self._awaited:
            if not waiter.done():
                waiter.set_exception(StoreClosed("the store closed before that revision was reached"))
