"""Pods that only the runtime knows."""

from msgspec.structs import replace
from tests.core.agent.builders import NOW, container, run, runtime, sandbox

from flexlet.api.nodepod.handlers import ExecAction, Handler, Lifecycle
from flexlet.core.agent import orphans
from flexlet.core.agent.containers import names
from flexlet.core.agent.record import ADMITTED
from flexlet.core.runtime.shown import EXITED

LABELS = {names.POD_NAME: "p", names.POD_NAMESPACE: "ns", names.POD_UID: "uid-1"}
HOOK = '{"exec":{"command":["true"]}}'


def test_a_record_is_made_from_labels_and_annotations_and_leads_to_the_end() -> None:
    a, b = container("a"), container("b")
    noted = {names.PRE_STOP: HOOK}
    shown = runtime(
        run(a, 1, annotations=noted),
        run(a, 0, state=EXITED),
        run(b, annotations={names.PRE_STOP: "nonsense"}),
        sandboxes=(sandbox(labels=LABELS),),
    )
    record = orphans.record_of(shown, NOW)
    meta = record.pod.metadata
    assert (meta.name, meta.namespace, meta.uid, record.gone, record.admission, record.shown) == (
        "p",
        "ns",
        "uid-1",
        True,
        ADMITTED,
        shown,
    )
    hooks = {each.name: each.lifecycle for each in record.pod.spec.containers}
    assert hooks == {"a": Lifecycle(pre_stop=Handler(exec=ExecAction(command=("true",)))), "b": None}


def test_without_a_sandbox_the_containers_tell_whose_they_are() -> None:
    shown = runtime(replace(run(container("a")), labels=LABELS), sandboxes=())
    assert orphans.record_of(shown, NOW).pod.metadata.name == "p"
    assert orphans.record_of(runtime(sandboxes=()), NOW).pod.metadata.name == ""
