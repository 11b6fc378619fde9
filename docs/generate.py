"""Writes the parts of ``docs/reference`` that follow from the code; ``--check`` only names what is out of date.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; the prose around it is written
by hand. `tests/docs` holds every page to what this prints, so that a new option, kind, metric or error cannot stay
unknown.
"""  # noqa: INP001  a script beside the pages

import ast
import importlib
import inspect
import itertools
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import yaml

import flexlet
from flexlet.api import schema
from flexlet.api.pod import Pod
from flexlet.apiserver.contract.kind import ALL_VERBS, Kind
from flexlet.apiserver.http.metrics import Metrics
from flexlet.apiserver.kinds.table import builtin_kinds
from flexlet.apiserver.store.rows import Statistics
from flexlet.cli.main import cli
from flexlet.core import gates
from flexlet.core.agent.containers import unsupported
from flexlet.core.kubeletconfig import noderesize, reading, support
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.noderesize import NodeResizeConfiguration
from flexlet.core.scheduling import exposition, pending
from flexlet.core.stats.declared import FAMILIES
from flexlet.errors import FlexletError

DOCS: Final = Path(__file__).resolve().parent
DIFFERENCES: Final = DOCS.parent / "tests/apiserver/replay/known_differences.yaml"
LIVES: Final = DOCS.parent / "tests/scenarios/lives/differences.yaml"
_PART: Final = re.compile(r"(<!-- generated: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> Iterator[str]:
    """Usage, text and options of every command."""
    for context in leaves(click.Context(cli, info_name="flexlet")):
        command = context.command
        usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
        yield f"\n## {context.command_path}\n\n```text\n{usage}\n```\n\n{inspect.cleandoc(command.help or '')}\n"
        yield "\n| option | meaning |\n|---|---|\n"
        yield from (f"| `{names}` | {meaning} |\n" for names, meaning in options(context))


def leaves(context: click.Context) -> Iterator[click.Context]:
    """The commands at the ends of the tree, and groups that do something by themselves."""
    command = context.command
    if not isinstance(command, click.Group):
        yield context
        return
    if command.invoke_without_command:
        yield context
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None:
            yield from leaves(click.Context(below, info_name=name, parent=context))


def options(context: click.Context) -> Iterator[tuple[str, str]]:
    """What a command takes besides its arguments, and what that means."""
    for parameter in context.command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield record[0].replace("|", "\\|"), " ".join(record[1].replace("|", "\\|").split())


def kinds() -> Iterator[str]:
    """The kinds served without a definition."""
    yield "| group | kind | resource | short | scope | verbs | subresources |\n|---|---|---|---|---|---|---|\n"
    for kind in builtin_kinds(gates.Gates().enabled):
        yield (
            f"| `{kind.api_version}` | {kind.kind} | `{kind.plural}` | {', '.join(kind.short_names)} "
            f"| {'namespace' if kind.namespaced else 'cluster'} | {_verbs(kind)} | {_subresources(kind)} |\n"
        )


def _verbs(kind: Kind) -> str:
    if set(kind.verbs) == set(ALL_VERBS):
        return "all"
    missing = sorted(set(ALL_VERBS) - set(kind.verbs))
    return f"all but {', '.join(missing)}" if len(missing) < 4 else ", ".join(kind.verbs)


def _subresources(kind: Kind) -> str:
    return ", ".join(f"`{sub.name}`" for sub in kind.subresources)


def metrics() -> Iterator[str]:
    """Every metric of ``/metrics`` and ``/metrics/resources``."""
    counts = Metrics(gates.Gates().enabled)
    nothing = Statistics(*[0] * len(Statistics.__struct_fields__))
    yield "| metric | type | path | meaning |\n|---|---|---|---|\n"
    yield from _metric_rows("/metrics", counts.text(nothing) + pending.render([]))
    yield from _metric_rows("/metrics/resources", exposition.render([_limited_pod()]))


def _metric_rows(path: str, text: str) -> Iterator[str]:
    kind_of = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    for name, meaning in re.findall(r"^# HELP (\S+) (.+)$", text, re.MULTILINE):
        yield f"| `{name}` | {kind_of[name]} | `{path}` | {meaning} |\n"


def node_metrics() -> Iterator[str]:
    """Every family that a node may show."""
    yield "| metric | type | labels | meaning |\n|---|---|---|---|\n"
    for name, family in sorted(FAMILIES.items()):
        labels = ", ".join(f"`{label}`" for label in family.labels)
        yield f"| `{name}` | {family.kind} | {labels} | {family.help} |\n"


def _limited_pod() -> Pod:
    from flexlet.api import decode

    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    return decode.from_value({"spec": {"containers": [{"name": "c", "resources": resources}]}}, Pod)


def errors() -> Iterator[str]:
    """The exception tree, every class with the sentence that its docstring begins with."""
    for module in pkgutil.walk_packages(flexlet.__path__, "flexlet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    yield from _error(FlexletError, "")


def _error(error: type[FlexletError], indent: str) -> Iterator[str]:
    first = (inspect.getdoc(error) or "").split("\n\n")[0].replace("\n", " ")
    yield f"{indent}- `{error.__name__}` (`{error.__module__}`): {first}\n"
    below = (one for one in error.__subclasses__() if one.__module__.startswith("flexlet."))
    for one in sorted(below, key=lambda one: (one.__module__, one.__name__)):
        yield from _error(one, f"{indent}  ")


def differences() -> Iterator[str]:
    """What the replay of recordings lets pass, and in which of them it shows."""
    yield "| difference | recordings |\n|---|---|\n"
    for entry in yaml.safe_load(DIFFERENCES.read_text()):
        shown = ", ".join(f"`{recording}`" for recording in entry["where"])
        yield f"| {' '.join(entry['reason'].split())} | {shown} |\n"


def lives() -> Iterator[str]:
    """Where a pod's life was another than the recorded one, and in which of them."""
    known = yaml.safe_load(LIVES.read_text())
    yield "| difference | recorded lives |\n|---|---|\n"
    for entry in known["known"]:
        shown = ", ".join(f"`{life}`" for life in entry["where"])
        yield f"| {' '.join(entry['reason'].split())} | {shown} |\n"
    for reason in dict.fromkeys(known["not_lived"].values()):
        shown = ", ".join(f"`{life}`" for life, why in known["not_lived"].items() if why == reason)
        yield f"| {reason} | {shown} |\n"


def pod_refusals() -> Iterator[str]:
    """The fields and values that a node rejects a pod for."""
    yield "| field | feature |\n|---|---|\n"
    types = sorted(set(schema.named("core.v1.Volume").fields) - unsupported.VOLUMES - {"name"})
    yield f"| `spec.volumes[*]` | volumes of type {_listed(types)} |\n"
    projected = sorted(set(schema.named("core.v1.VolumeProjection").fields) - unsupported.PROJECTED)
    yield f"| `spec.volumes[*].projected.sources[*]` | {_listed(projected)} |\n"
    places = (
        ("spec.", unsupported.OF_PODS),
        ("spec.containers[*].", unsupported.OF_CONTAINERS),
    )
    for place, features in places:
        yield from (f"| `{place}{feature.field}` | {feature.meaning} |\n" for feature in features)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def node_fields() -> Iterator[str]:
    """The fields of KubeletConfiguration that a node obeys, and what an empty file means."""
    yield "| field | default |\n|---|---|\n"
    for path, value in sorted(_leaves(reading.to_value(KubeletConfiguration()), "")):
        yield f"| `{path}` | {_shown(value)} |\n"


def _leaves(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, part in value.items():
        if isinstance(part, dict) and part and prefix + name != "evictionHard":
            yield from _leaves(part, f"{prefix}{name}.")
        else:
            yield prefix + name, part


def _shown(value: Any) -> str:
    if value in (None, "", {}, (), []):
        return ""
    return f"`{value if isinstance(value, str) else msgspec.json.encode(value).decode()}`"


def node_refusals() -> Iterator[str]:
    """The fields and values that a node refuses, and what to do about them."""
    yield "| field or value | what to do |\n|---|---|\n"
    texts = {path: refusal.remedy for path, refusal in support.REFUSED.items()}
    for path, values in support.REFUSED_VALUES.items():
        texts |= {f"{path}: {msgspec.json.encode(value).decode()}": text for value, text in values.items()}
    yield from (f"| `{path}` | {text} |\n" for path, text in sorted(texts.items()))


def node_resize_fields() -> Iterator[str]:
    """The fields of NodeResizeConfiguration, what an empty file means, and what their docstrings say."""
    yield "| field | default | meaning |\n|---|---|---|\n"
    values = noderesize.to_value(NodeResizeConfiguration())
    names = {field.name: field.encode_name for field in msgspec.structs.fields(NodeResizeConfiguration)}
    for name, meaning in _attributes(NodeResizeConfiguration):
        yield f"| `{names[name]}` | {_shown(values[names[name]])} | {meaning} |\n"


def _attributes(kind: type) -> Iterator[tuple[str, str]]:
    """Attributes of a class, each with the text below it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101
    for above, below in itertools.pairwise(body.body):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            assert isinstance(below, ast.Expr)  # noqa: S101
            yield above.target.id, ast.literal_eval(below.value)


PARTS: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "commands": commands,
    "differences": differences,
    "errors": errors,
    "kinds": kinds,
    "lives": lives,
    "metrics": metrics,
    "node-fields": node_fields,
    "node-metrics": node_metrics,
    "node-refusals": node_refusals,
    "node-resize-fields": node_resize_fields,
    "pod-refusals": pod_refusals,
}


def rendered(page: str) -> str:
    """The page with its generated parts as the code has them now."""
    return _PART.sub(lambda found: f"{found[1]}{''.join(PARTS[found[2]]())}{found[3]}", page)


def outdated() -> list[Path]:
    """Pages whose generated parts are not what the code says."""
    return [path for path in sorted(DOCS.rglob("*.md")) if rendered(path.read_text()) != path.read_text()]


def main() -> int:
    """Rewrite what is out of date, or only name it."""
    pages = outdated()
    for path in pages:
        if "--check" not in sys.argv:
            path.write_text(rendered(path.read_text()))
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
    return int(bool(pages) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
