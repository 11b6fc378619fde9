"""The next resize of a node's balloons (balloon.md §4, §4.1).

One step at a time, each a function of what the API shows: deflates first, then, when the node has granted them,
inflates; never both in one request, for a request is granted as a whole or not at all. An inflate that a node
refuses is taken back to what is allocated, so that it reserves nothing; what that inflate came to is kept per
resource in the NodeSize's status, and a target that failed is not tried again until somebody wishes it anew.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from flexlet.core.nodesize import modes, sides, sizes
from flexlet.core.nodesize.objects import OnInsufficient, Progress, Result
from flexlet.core.nodesize.records import Records
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sides import Side
from flexlet.core.nodesize.sights import Balloon
from flexlet.core.nodesize.sizes import GRAIN, RESOURCES, Amounts

_INFEASIBLE: Final = "Infeasible"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """New sizes by balloon uid, how far each resource has come, and when to look again."""

    sizes: dict[str, Amounts] = {}
    progress: dict[str, Progress] = {}
    wake_at: float | None = None


class Resizing:
    """One look at one node; `drifted` are resources that somebody else changed just now, which are left alone."""

    def __init__(
        self,
        scene: Scene,
        wanted: Amounts,
        shares: dict[str, Amounts],
        policy: OnInsufficient,
        now: float,
        drifted: Iterable[str] = (),
    ) -> None:
        active = scene.active
        self.scene = scene
        self.policy = policy
        self.now = now
        self.drifted = frozenset(drifted)
        self.balloon = active
        self._shares = shares
        goal = shares[active.uid] if active else wanted
        self.sides = sides.of(scene, wanted, goal, self.drifted, now)
        self._records = Records(scene, self.sides, self.drifted, now)

    def turn(self) -> Turn:
        """What to do now."""
        if self.balloon is None or any(b.allocated is None or b.is_starting for b in self.scene.balloons):
            return Turn(progress=self._records.all())
        for step in (self._deflate, self._await_deflate, self._await_inflate, self._inflate):
            found = step(self.balloon)
            if found is not None:
                return found
        return Turn(progress=self._records.all())

    # ---- deflating

    def _deflate(self, active: Balloon) -> Turn | None:
        """All deflates at once, inflates that wait are taken back with them."""
        new = {b.uid: goal for b in self.scene.balloons if (goal := self._lowered(b)) != b.spec}
        if not new:
            return None
        lowered = self._lowering(new, active)
        if self.scene.refusal and lowered:
            for side in lowered:
                self._records.failed(side, "Refused", "Deflate", self.scene.refusal)
            return Turn(progress=self._records.all())
        for side in lowered:
            self._records.asked(side, "Deflate", new[active.uid][side.resource])
        return Turn(sizes=new, progress=self._records.all())

    def _lowering(self, new: dict[str, Amounts], active: Balloon) -> list[Side]:
        target = new.get(active.uid, active.spec)
        return [s for s in self.sides if target[s.resource] < s.allocated]

    def _lowered(self, balloon: Balloon) -> Amounts:
        """A balloon's spec with everything that shall be less; its spec as it is if nothing shall."""
        allocated = balloon.allocated or balloon.spec
        goals = {r: self._low_goal(balloon, r) for r in RESOURCES}
        is_lower = any(goals[r] < min(balloon.spec[r], allocated[r]) for r in RESOURCES)
        is_cut = any(goals[r] < balloon.spec[r] for r in RESOURCES)
        is_raised = any(balloon.spec[r] < allocated[r] and goals[r] > balloon.spec[r] for r in RESOURCES)
        if not (is_lower or is_cut or is_raised or self._is_mixed(balloon.spec, allocated)):
            return balloon.spec
        return {r: min(goals[r], allocated[r]) for r in RESOURCES}

    def _is_mixed(self, spec: Amounts, allocated: Amounts) -> bool:
        """Whether somebody has asked for more and less at once: what is less would wait for what is more."""
        if self.drifted:
            return False
        return any(spec[r] < allocated[r] for r in RESOURCES) and any(spec[r] > allocated[r] for r in RESOURCES)

    def _low_goal(self, balloon: Balloon, r: str) -> int:
        """What a balloon shall have at most; on a node that promised too much, only what is really left.

        A node in that state grants a deflate only if it ends all of it.
        """
        side = next(s for s in self.sides if s.resource == r)
        goal = side.goal if balloon is self.balloon else self._shares[balloon.uid][r]
        if balloon is self.balloon and side.is_over:
            if side.record.direction == "Deflate":
                return balloon.spec[r]
            # A node may grant late what was given up: that is taken back, and not wished for again. What
            # somebody else asked for less in vain is taken back too, to what it had when the wish failed.
            goal = min(goal, max(balloon.spec[r], sizes.of({r: side.record.requested})[r]))
        if r in self.drifted:
            return goal
        excess = self.scene.excess[r]
        if balloon is self.balloon and excess:
            goal = min(goal, max(sizes.FLOOR[r], side.allocated - excess))
        return goal

    def _await_deflate(self, active: Balloon) -> Turn | None:
        """Inflates have to wait until the node has taken back what it was given."""
        if active.pending == _INFEASIBLE and any(s.spec < s.allocated for s in self.sides):
            for side in self.sides:
                if side.spec < side.allocated:
                    self._records.failed(side, "Refused", "Deflate", active.message)
            return self._set(active, {})
        is_waiting = any((b.allocated or b.spec)[r] > b.spec[r] for b in self.scene.balloons for r in RESOURCES)
        return Turn(progress=self._records.all()) if is_waiting else None

    # ---- an inflate is under way

    def _await_inflate(self, active: Balloon) -> Turn | None:
        waiting = [side for side in self.sides if side.spec > side.allocated]
        if not waiting:
            return None
        if any(not side.is_current and side.goal != side.spec for side in waiting):
            return self._set(active, {})
        answer: Callable[[Balloon, list[Side]], Turn] = self._unanswered
        if active.pending:
            answer = self._deferred if self.policy == "Defer" and active.pending != _INFEASIBLE else self._denied
        return answer(active, waiting)

    def _unanswered(self, active: Balloon, waiting: list[Side]) -> Turn:
        patience = self.scene.settings.silence_s
        if self.policy == "Defer":
            patience = max(patience, self.scene.size.spec.deadline_s)
        until = self._since(waiting) + patience
        if self.now < until:
            return Turn(progress=self._records.all(), wake_at=until)
        return self._withdraw(active, waiting, f"the node did not answer within {patience:g} s")

    def _denied(self, active: Balloon, waiting: list[Side]) -> Turn:
        """No room: try resources alone, then, where a part is welcome, half as much."""
        if self.now >= self._since(waiting) + self.scene.settings.decide_s:
            return self._withdraw(active, waiting, active.message)
        if len(waiting) > 1:
            first = min(waiting, key=lambda side: side.spec - side.allocated > side.free)
            return self._only(active, [first], waiting)
        side = waiting[0]
        half = (side.spec - side.allocated) // 2
        may_halve = self.policy == "Partial" and active.pending != _INFEASIBLE
        if may_halve and half >= GRAIN[side.resource] and side.record.attempts < self.scene.settings.halvings:
            less = side.allocated + half
            self._records.asked(side, "Inflate", less, attempts=side.record.attempts + 1)
            return self._set(active, {side.resource: less})
        return self._withdraw(active, waiting, active.message)

    def _deferred(self, active: Balloon, waiting: list[Side]) -> Turn:
        """Wait for the deadline; a resource that could have its size now does not wait with the other."""
        until = self._since(waiting) + self.scene.size.spec.deadline_s
        if self.now >= until:
            return self._withdraw(active, waiting, active.message)
        fitting = [s for s in self.sides if not s.is_over and 0 < s.need <= s.free]
        if fitting and any(side not in fitting for side in waiting):
            return self._only(active, fitting, waiting)
        for side in waiting:
            self._records.asked(side, "Inflate", side.spec, result="Deferred", message=active.message)
        return Turn(progress=self._records.all(), wake_at=until)

    def _only(self, active: Balloon, chosen: list[Side], waiting: list[Side]) -> Turn:
        """Ask for some of what waits, or might; the rest comes later."""
        for side in {s.resource: s for s in (*waiting, *chosen)}.values():
            asked = side.goal if side in chosen and side.spec <= side.allocated else side.spec
            self._records.asked(side, "Inflate", asked if side in chosen else side.allocated)
        wish = {s.resource: s.spec if s.spec > s.allocated else s.goal for s in chosen}
        return self._set(active, wish)

    def _withdraw(self, active: Balloon, waiting: list[Side], message: str) -> Turn:
        """Back to what is allocated: a wish that failed must not keep others out."""
        for side in waiting:
            self._records.failed(side, self._failed(side), "Inflate", message)
        return self._set(active, {})

    # ---- nothing is under way

    def _inflate(self, active: Balloon) -> Turn | None:
        wishes = [s for s in self.sides if s.goal > s.spec and not s.is_over]
        if not wishes:
            return None
        until = self._since(wishes) + self.scene.settings.settle_s
        if active.pending and self.now < until:
            # An answer to an earlier request: kubelets of 1.33 do not say to which. It goes away.
            return Turn(progress=self._records.all(), wake_at=until)
        guard = self.scene.refusal or modes.may_inflate(active, self.scene.verdict)
        if guard:
            for side in wishes:
                self._records.failed(side, self._failed(side), "Inflate", guard)
            return Turn(progress=self._records.all())
        fitting = {s.resource: size for s in wishes if (size := self._offer(s)) > s.allocated}
        lacking = [s for s in wishes if s.resource not in fitting]
        hopeful = [s for s in lacking if self._may_wait(s)]
        for side in lacking:
            if side not in hopeful and not side.is_owed:
                self._records.failed(side, self._failed(side), "Inflate", self._no_room(side))
        return self._ask(active, wishes, fitting or {s.resource: s.goal for s in hopeful})

    def _ask(self, active: Balloon, wishes: list[Side], wish: dict[str, int]) -> Turn:
        for side in wishes:
            if side.resource in wish:
                self._records.asked(side, "Inflate", wish[side.resource])
        return self._set(active, wish) if wish else Turn(progress=self._records.all())

    def _offer(self, side: Side) -> int:
        """How big the balloon may try to be now."""
        if self.policy == "Partial" or side.is_owed:
            reserve = self.scene.settings.critical_reserve[side.resource]
            grant = min(side.need, side.room - reserve, side.may_grow)
            least = side.need if side.is_owed else min(side.need, GRAIN[side.resource])
            return side.allocated + grant if grant >= least else side.allocated
        return side.goal if side.need <= side.free else side.allocated

    def _may_wait(self, side: Side) -> bool:
        return self.policy == "Defer" and side.need <= side.may_grow and not side.is_owed

    # ---- what came of it

    def _failed(self, side: Side) -> Result:
        before = self.scene.size.status.base
        start = sizes.of(before.before)[side.resource] if before else side.allocated
        is_part = self.policy == "Partial" and side.allocated > start
        return "Partial" if is_part else "Refused"

    def _no_room(self, side: Side) -> str:
        cause = "minEffective leaves" if side.may_grow < side.room else "there is room for"
        return (
            f"{sizes.quantity(side.resource, side.need)} more is wanted and {cause}"
            f" {sizes.quantity(side.resource, max(0, side.free))}"
        )

    def _set(self, active: Balloon, wish: dict[str, int]) -> Turn:
        """The active balloon with these sizes; all else is what is allocated."""
        allocated = active.allocated or active.spec
        new = {active.uid: {**allocated, **wish}}
        return Turn(sizes=new, progress=self._records.all())

    def _since(self, waiting: Iterable[Side]) -> float:
        """When the oldest of these wishes was first made."""
        return min((side.since or self.now for side in waiting), default=self.now)
