"""``flexlet vm plan``: what an in-place resize would do, for machines of KubeVirt and our own. It only reads."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from flexlet.cli.options import vm_config_option
from flexlet.cli.output import columns, output_option, print_json, print_lines, say
from flexlet.cli.vm.group import common_options, vm
from flexlet.cli.vmsettings import Known, of_file, of_kubevirt
from flexlet.errors import ConfigError, InputError

if TYPE_CHECKING:
    from flexlet.core.vm.bridge import Subject
    from flexlet.core.vm.plan import Plan, State
    from flexlet.ports.cluster import Cluster

REFUSED = 3


@vm.command()
@click.option("-f", "--filename", "file", type=click.File("rb"), help="YAML or JSON of machines; - is stdin.")
@click.option("--from-cluster", "name", default="", metavar="NAME", help="A machine of the cluster instead.")
@click.option("--vcpus", type=click.IntRange(1), help="How many vCPUs it shall have.")
@click.option("--sockets", type=click.IntRange(1), help="The same in sockets, KubeVirt's knob.")
@click.option("--memory", default="", metavar="SIZE", help="How much memory it shall have, such as 16Gi.")
@vm_config_option
@common_options
@output_option
def plan(
    file: BinaryIO | None,
    name: str,
    vcpus: int | None,
    sockets: int | None,
    memory: str,
    vm_config: Path | None,
    namespace: str,
    kubeconfig: str | None,
    output: str,
) -> int:
    """Say what resizing a machine in place would do: its pod before and after, the steps, and what hinders it.

    Reads VirtualMachines and VirtualMachineInstances of KubeVirt (kubevirt.io/v1), and FlexVMs; changes nothing.
    Without a size it shows what the machine has. Exit code 3 if something hinders it.
    """
    if (file is None) == (not name):
        raise click.UsageError("name a machine: either -f FILE or --from-cluster NAME")
    if vcpus is not None and sockets is not None:
        raise click.UsageError("--vcpus and --sockets say the same: give one of them")
    known = of_file(vm_config)
    if file is None:
        found, known = _asked(kubeconfig, namespace, name, known)
        subjects = [found]
    else:
        subjects = list(_read(file, known))
    plans = [_plan(subject, vcpus, sockets, memory, known) for subject in subjects]
    say(known.told())
    if output == "json":
        print_json([_listed(found) for found in plans] if len(plans) > 1 else _listed(plans[0]))
    else:
        print_lines([line for number, found in enumerate(plans) for line in _lines(found, number)])
    return REFUSED if any(found.hindrances for found in plans) else 0


# ---- reading


def _read(file: BinaryIO, known: Known) -> "Iterator[Subject]":
    from flexlet.cli.documents import documents
    from flexlet.core.vm import bridge

    found = False
    for document in documents(file.read(), file.name):
        if document.problem:
            raise ConfigError(f"{document.label}: {document.problem}")
        if bridge.is_machine(document.value):
            found = True
            try:
                yield bridge.subject(document.value, known.settings)
            except InputError as error:
                raise ConfigError(f"{document.label}: {error}") from None
    if not found:
        raise ConfigError(f"{file.name}: there is no VirtualMachine, VirtualMachineInstance or FlexVM in it")


def _asked(kubeconfig: str | None, namespace: str, name: str, known: Known) -> "tuple[Subject, Known]":
    from flexlet.cli.reading import of_cluster

    return asyncio.run(of_cluster(kubeconfig, lambda cluster: _from_cluster(cluster, namespace, name, known)))


async def _from_cluster(cluster: "Cluster", namespace: str, name: str, known: Known) -> "tuple[Subject, Known]":
    """A machine of KubeVirt with its instance if it runs, or else a FlexVM."""
    import msgspec

    from flexlet.cli import vmreading
    from flexlet.core.vm import bridge, kubevirt, names

    raw = await _found(cluster, kubevirt.MACHINES, namespace, name)
    if raw is None:
        vm = msgspec.to_builtins(await vmreading.get_vm(cluster, namespace, name), enc_hook=str)
        body = {**vm, "kind": names.KIND, "apiVersion": names.API_VERSION}
        return bridge.subject(body, known.settings), known
    body = {"kind": "VirtualMachine", "apiVersion": "kubevirt.io/v1", **msgspec.json.decode(raw)}
    instance = await _found(cluster, kubevirt.INSTANCES, namespace, name)
    known = await of_kubevirt(cluster, known)
    try:
        return bridge.subject(body, known.settings, instance), known
    except InputError as error:
        raise ConfigError(str(error)) from None


async def _found(cluster: "Cluster", ref: tuple[str, str, str], namespace: str, name: str) -> bytes | None:
    from flexlet.api.status import NotFound
    from flexlet.ports.cluster import Ref

    try:
        return await cluster.get(Ref(*ref), namespace, name)
    except NotFound:
        return None


def _plan(subject: "Subject", vcpus: int | None, sockets: int | None, memory: str, known: Known) -> "Plan":
    from flexlet.api import quantity
    from flexlet.core.vm.amounts import Sizes
    from flexlet.core.vm.plan import plan as planned

    unit = subject.wanted.per_socket
    count = vcpus if vcpus is not None else sockets * unit if sockets is not None else subject.now.vcpus
    if count % unit:
        raise click.UsageError(f"{subject.name} has {unit} vCPUs a socket: give a multiple of that, or --sockets")
    try:
        size = quantity.parse(memory).value if memory else subject.now.memory
    except InputError as error:
        raise click.UsageError(f"--memory {memory}: {error}") from None
    return planned(subject, Sizes(count, size), known.settings)


# ---- showing


def _lines(found: "Plan", number: int) -> list[str]:
    lines = [*([""] if number else []), f"{found.kind} {found.namespace or 'default'}/{found.name}", ""]
    lines += columns(_table(found))
    titles = (("in place", _steps(found)), ("hindered", _hindered(found)), ("notes", found.notes))
    for title, texts in titles:
        if texts:
            lines += ["", f"{title}:", *(f"  {text}" for text in texts)]
    if found.before.guest != found.after.guest:
        lines += ["", *_quota(found)]
    return lines


def _table(found: "Plan") -> list[list[str]]:
    """Guest, pod and overhead, now and then."""
    states = (found.before, found.after)
    names = dict.fromkeys(name for state in states for name, _ in state.overhead)
    head = ["", "NOW", "THEN"]
    rows = [
        ["guest vCPUs", *(str(state.guest.vcpus) for state in states)],
        ["guest memory", *(_bytes(state.guest.memory) for state in states)],
        *_pods(states),
        ["overhead", *(_bytes(sum(size for _, size in state.overhead)) for state in states)],
        *([f"  {name}", *(_bytes(dict(state.overhead).get(name, 0)) for state in states)] for name in names),
    ]
    same = found.before.guest == found.after.guest
    return [row[:2] for row in (head, *rows)] if same else [head, *rows]


def _pods(states: "Sequence[State]") -> Iterator[list[str]]:
    from flexlet.api.quantity import Quantity

    yield ["pod cpu", *(str(Quantity.of_milli(state.pod.cpu_m)) for state in states)]
    yield ["pod memory", *(_bytes(state.pod.memory) for state in states)]
    if states[0].pod.cpu_limit_m is not None:
        yield ["pod cpu limit", *(str(Quantity.of_milli(state.pod.cpu_limit_m or 0)) for state in states)]
    if states[0].pod.memory_limit is not None:
        yield ["pod memory limit", *(_bytes(state.pod.memory_limit or 0) for state in states)]
    for name in states[0].pod.hugepages:
        yield [f"pod {name}", *(_bytes(state.pod.hugepages[name]) for state in states)]


def _steps(found: "Plan") -> list[str]:
    return [f"{number}. {step.who}: {step.text}" for number, step in enumerate(found.steps, 1)]


def _hindered(found: "Plan") -> list[str]:
    return [f"{each.resource}: {each.reason}: {each.message}" for each in found.hindrances]


def _quota(found: "Plan") -> list[str]:
    here = found.before.pod.memory
    more, twice = (peak["requests.memory"] - here for peak in (found.quota.in_place, found.quota.migration))
    return [
        f"quota requests.memory: {_bytes(more)} more in place, {_bytes(twice)} more by a migration's second pod"
    ]


def _listed(found: "Plan") -> dict[str, Any]:
    """For programs: quantities as text."""
    return {
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
        "inPlace": not found.hindrances,
        "before": _state(found.before),
        "after": _state(found.after),
        "steps": [{"who": step.who, "text": step.text} for step in found.steps],
        "hindrances": found.hindrances,
        "notes": found.notes,
        "quota": {"inPlace": found.quota.in_place, "migration": found.quota.migration},
    }


def _state(state: "State") -> dict[str, Any]:
    from flexlet.core.vm.manifest import resources

    return {
        "vcpus": state.guest.vcpus,
        "memory": _bytes(state.guest.memory),
        "pod": resources(state.pod),
        "overhead": {name: _bytes(size) for name, size in state.overhead},
    }


def _bytes(amount: int) -> str:
    from flexlet.api.quantity import Quantity

    return str(Quantity.of_bytes(amount))
