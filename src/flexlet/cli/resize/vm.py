"""``flexlet resize vm``: change what a FlexVM wants, and look at it until its guest has it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flexlet.cli.options import deadline_option, namespace_option, vm_config_option
from flexlet.cli.output import columns, print_json, print_lines, say
from flexlet.cli.resize.group import REFUSED, QuantityType, common_options, resize
from flexlet.cli.vmsettings import Known, of_file

if TYPE_CHECKING:
    from flexlet.api.quantity import Quantity
    from flexlet.core.sizes.vmplan import Circumstances, Plan
    from flexlet.core.sizes.vmresize import Wish
    from flexlet.core.sizes.wish import Outcome
    from flexlet.core.vm.objects import FlexVM
    from flexlet.ports.cluster import Cluster


@resize.command()
@click.argument("name")
@click.option("--vcpus", type=click.IntRange(1), help="How many vCPUs the guest shall have.")
@click.option("--memory", type=QuantityType(), help="How much memory the guest shall have, such as 16Gi.")
@namespace_option("VM")
@deadline_option(30.0, "room on the node")
@vm_config_option
@common_options
def vm(
    name: str,
    vcpus: int | None,
    memory: "Quantity | None",
    namespace: str,
    deadline_s: float,
    vm_config: Path | None,
    wait: bool,
    patience_s: float,
    dry_run: bool,
    kubeconfig: str | None,
    output: str,
) -> int:
    """Give a running VM more or less vCPUs and memory, on its node and without a restart.

    Its launcher pod grows first and shrinks last. A resize for which the node has no room is refused (exit code
    3), but stays wanted: it is done when there is room, or what resizePolicy.fallback says is done instead.
    """
    from flexlet.cli.reading import of_cluster
    from flexlet.core.sizes.vmresize import Wish

    if vcpus is None and memory is None:
        raise click.UsageError("say how big: --vcpus N, --memory SIZE, or both")
    resizing = _Resizing(namespace, name, Wish(vcpus=vcpus, memory=memory), of_file(vm_config), output)
    if dry_run:
        return asyncio.run(of_cluster(kubeconfig, resizing.show_plan))
    patience_s = max(patience_s, deadline_s)
    return asyncio.run(of_cluster(kubeconfig, lambda cluster: resizing.run(cluster, wait, patience_s, deadline_s)))


class _Resizing:
    """One machine on its way to another size."""

    def __init__(self, namespace: str, name: str, wish: "Wish", known: Known, output: str) -> None:
        self._namespace = namespace
        self._name = name
        self._wish = wish
        self._known = known
        self._output = output

    async def show_plan(self, cluster: "Cluster") -> int:
        """What would be done, and what is in the way."""
        from flexlet.core.sizes import vmplan

        found = await self._get(cluster)
        plan = vmplan.plan(found, self._wish, await _around(cluster, found, self._known))
        say(self._known.told())
        _print_plan(self._name, plan, self._output)
        return 0 if plan.verdict in vmplan.AT_ONCE else REFUSED

    async def run(self, cluster: "Cluster", wait: bool, patience_s: float, deadline_s: float) -> int:
        """Ask for it, and look at it."""
        from flexlet.adapters.clock import SystemClock
        from flexlet.cli.resize.following import conclude, follow
        from flexlet.core.sizes import vmresize
        from flexlet.core.sizes.wish import Outcome

        clock, before = SystemClock(), await self._get(cluster)
        refusal = await self._ask(cluster, before, clock.now())
        if refusal is not None:
            self._print(before, before, refusal)
            return conclude(self._name, refusal)
        if not wait:
            say(f"{self._name}: asked for; `flexlet get vms -n {self._namespace}` shows how far it is")
            return 0
        until = clock.monotonic() + deadline_s

        def judge(seen: "FlexVM") -> Outcome:
            found = vmresize.outcome(seen)
            waits = found.reason == "Deferred" and clock.monotonic() < until
            return Outcome("Waiting", found.reason, found.message) if waits else found

        after, found = await follow(self._name, clock, patience_s, lambda: self._get(cluster), judge)
        if found.reason == "Timeout" and after.status.observed_generation < after.metadata.generation:
            found = Outcome("Failed", "Timeout", f"{found.message}; is `flexlet controllers` running?")
        self._print(before, after, found)
        return conclude(self._name, found)

    async def _ask(self, cluster: "Cluster", vm: "FlexVM", now: float) -> "Outcome | None":
        """Write the wish; a size that no guest can have is not even sent."""
        from flexlet.api import age
        from flexlet.cli import vmreading
        from flexlet.core.sizes import vmplan, vmresize
        from flexlet.core.sizes.wish import Outcome

        if wrong := vmplan.objections(vm, self._wish, self._known.settings):
            return Outcome("Refused", "Invalid", "; ".join(wrong))
        body = vmresize.patch(vm, self._wish, age.format_micro(now))
        return await vmreading.patch_vm(cluster, self._namespace, self._name, body)

    async def _get(self, cluster: "Cluster") -> "FlexVM":
        from flexlet.cli import vmreading

        return await vmreading.get_vm(cluster, self._namespace, self._name)

    def _print(self, before: "FlexVM", after: "FlexVM", found: "Outcome") -> None:
        from flexlet.core.sizes.vms import of_vm

        old, new = of_vm(before), of_vm(after)
        if self._output == "json":
            value = {
                "vm": f"{self._namespace}/{self._name}",
                "result": found.state,
                "reason": found.reason,
                "message": found.message,
                "before": old,
                "after": new,
            }
            print_json(value)
        elif found.state == "Done":
            print_lines(columns(_rows(self._name, before, after)))
            if found.message:
                say(f"{self._name}: {found.message}")


def _rows(name: str, before: "FlexVM", after: "FlexVM") -> list[tuple[str, ...]]:
    """``db  vcpus 4 -> 8   memory 8Gi -> 16Gi``, of the guest and of its pod."""
    from flexlet.core.sizes.vms import of_vm
    from flexlet.core.sizes.words import change

    old, new = of_vm(before), of_vm(after)
    memory = change("memory", old.memory.now, new.memory.now)
    guest = f"vcpus {_change(old.vcpus.now, new.vcpus.now)}", f"memory {memory}"
    pod = tuple(
        f"{key} {change(key, old.pod.allocated.get(key), new.pod.allocated.get(key))}" for key in ("cpu", "memory")
    )
    return [(name, "guest", *guest), (name, "pod", *pod)]


def _change(before: int | None, after: int | None) -> str:
    shown = ["-" if each is None else str(each) for each in (before, after)]
    return shown[1] if before == after else " -> ".join(shown)


async def _around(cluster: "Cluster", vm: "FlexVM", known: Known) -> "Circumstances":
    """What the plan depends on beside the FlexVM: the machine that runs, and the room on its node."""
    from flexlet.cli import reading, vmreading
    from flexlet.core.sizes.vmplan import Circumstances

    machine = vmreading.machine(await vmreading.launcher(cluster, vm))
    if not vm.status.node_name:
        return Circumstances(machine=machine, settings=known.settings)
    node = (await reading.node_details(cluster, vm.status.node_name)).sizes
    headroom = {name: one.headroom for name, one in node.resources.items()}
    return Circumstances(machine=machine, headroom=headroom, settings=known.settings)


def _print_plan(name: str, plan: "Plan", output: str) -> None:
    if output == "json":
        print_json({"vm": name, "verdict": plan.verdict, "reasons": plan.reasons, "steps": plan.steps})
        return
    rows = [(name, f"{number}.", step.what, step.text()) for number, step in enumerate(plan.steps, 1)]
    if rows:
        print_lines(columns(rows))
    for reason in plan.reasons:
        say(f"{name}: {plan.verdict}: {reason}")
    if plan.verdict == "Unchanged":
        say(f"{name}: it has this size")
