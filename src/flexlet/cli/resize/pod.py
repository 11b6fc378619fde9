"""``flexlet resize pod``: through the resize subresource, and until the node has done it."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from flexlet.cli.options import deadline_option, namespace_option
from flexlet.cli.output import columns, print_json, print_lines, say
from flexlet.cli.resize.group import common_options, resize

if TYPE_CHECKING:
    from flexlet.api.pod import Pod
    from flexlet.core.sizes.podresize import Amount
    from flexlet.core.sizes.wish import Outcome
    from flexlet.ports.cluster import Cluster


class AmountType(click.ParamType["Amount"]):
    """``REQUEST``, ``REQUEST/LIMIT`` or ``/LIMIT``."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Amount":
        """What is wanted of one resource."""
        from flexlet.core.sizes.podresize import Amount, read
        from flexlet.errors import InputError

        if isinstance(value, Amount):
            return value
        try:
            return read(str(value))
        except InputError as error:
            self.fail(f"{value!r} is not an amount such as 500m, 500m/1 or /1: {error.message}", param, ctx)


@resize.command()
@click.argument("name")
@click.option("--cpu", type=AmountType(), help="500m, or 500m/1 for request and limit, or /1 for the limit.")
@click.option("--memory", type=AmountType(), help="128Mi, or 128Mi/256Mi, or /256Mi.")
@click.option("--container", "-c", default="", help="Which container; by default the pod as a whole.")
@namespace_option("pod")
@deadline_option(0.0, "a resize that the node defers")
@common_options
def pod(
    name: str,
    cpu: "Amount | None",
    memory: "Amount | None",
    container: str,
    namespace: str,
    deadline_s: float,
    wait: bool,
    patience_s: float,
    dry_run: bool,
    kubeconfig: str | None,
    output: str,
) -> int:
    """Give a running pod, or one of its containers, another size in place.

    One value is the request, and the limit too where both are the same now. A pod with resources of its own is
    resized as a whole. A resize that the node defers is refused (exit code 3), but stays and is tried again by the
    node until another one is asked for.
    """
    from flexlet.cli.reading import of_cluster

    wishes = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    if not wishes:
        raise click.UsageError("say how big: --cpu AMOUNT, --memory AMOUNT, or both")
    resizing = _Resizing(namespace, name, container, wishes, output)
    if dry_run:
        return asyncio.run(of_cluster(kubeconfig, resizing.show_plan))
    patience_s = max(patience_s, deadline_s)
    return asyncio.run(of_cluster(kubeconfig, lambda cluster: resizing.run(cluster, wait, patience_s, deadline_s)))


class _Resizing:
    """One pod on its way to another size."""

    def __init__(
        self, namespace: str, name: str, container: str, wishes: "dict[str, Amount]", output: str
    ) -> None:
        self._namespace = namespace
        self._name = name
        self._container = container
        self._wishes = wishes
        self._output = output

    async def show_plan(self, cluster: "Cluster") -> int:
        """What would be sent."""
        from flexlet.core.sizes import podresize

        found = await self._get(cluster)
        container = podresize.chosen(found, self._container)
        body = podresize.patch(found, container, self._wishes)
        if self._output == "json":
            print_json({"pod": f"{self._namespace}/{self._name}", "container": container, "patch": body})
            return 0
        new = podresize.patched(found, container, body)
        print_lines(columns(_rows(self._name, container, found, new)))
        return 0

    async def run(self, cluster: "Cluster", wait: bool, patience_s: float, deadline_s: float) -> int:
        """Ask for it, and look at it."""
        from flexlet.adapters.clock import SystemClock
        from flexlet.cli import reading
        from flexlet.cli.resize.following import conclude, follow
        from flexlet.core.sizes import podresize
        from flexlet.core.sizes.wish import Outcome

        clock, before = SystemClock(), await self._get(cluster)
        container = podresize.chosen(before, self._container)
        body = podresize.patch(before, container, self._wishes)
        refusal = await reading.resize_pod(cluster, self._namespace, self._name, body)
        if refusal is not None:
            self._print(before, before, container, refusal)
            return conclude(self._name, refusal)
        if not wait:
            say(f"{self._name}: asked for; `flexlet get pods -n {self._namespace}` shows how far it is")
            return 0
        until = clock.monotonic() + deadline_s

        def judge(seen: "Pod") -> Outcome:
            found = podresize.outcome(seen, container)
            waits = found.reason == "Deferred" and clock.monotonic() < until
            return Outcome("Waiting", found.reason, found.message) if waits else found

        after, found = await follow(self._name, clock, patience_s, lambda: self._get(cluster), judge)
        self._print(before, after, container, found)
        return conclude(self._name, found)

    async def _get(self, cluster: "Cluster") -> "Pod":
        from flexlet.cli import reading

        return await reading.get_pod(cluster, self._namespace, self._name)

    def _print(self, before: "Pod", after: "Pod", container: str, found: "Outcome") -> None:
        from flexlet.core.sizes.pods import of_pod

        if self._output == "json":
            value = {
                "pod": f"{self._namespace}/{self._name}",
                "container": container,
                "result": found.state,
                "reason": found.reason,
                "message": found.message,
                "before": of_pod(before),
                "after": of_pod(after),
            }
            print_json(value)
        elif found.state == "Done":
            print_lines(columns(_rows(self._name, container, before, after)))


def _rows(name: str, container: str, before: "Pod", after: "Pod") -> list[tuple[str, ...]]:
    """``web  c  cpu  requests 1 -> 2  limits 2``."""
    from flexlet.core.sizes import podresize
    from flexlet.core.sizes.words import change

    old, new = podresize.resources(before, container), podresize.resources(after, container)
    return [
        (
            name,
            container or "(pod)",
            key,
            f"requests {change(key, old.requests.get(key), new.requests.get(key))}",
            f"limits {change(key, old.limits.get(key), new.limits.get(key))}",
        )
        for key in ("cpu", "memory")
    ]
