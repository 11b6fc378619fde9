"""What workloads share: a selector, a template of pods, and how both are shown."""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import fielderrors, names, selectors
from flexlet.api.fielderrors import FieldError
from flexlet.api.selectors import SelectorFault
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import shape, template
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.strategy import KindStrategy, count_generation, keep

_MISMATCH: Final = "`selector` does not match template `labels`"
TEMPLATE: Final = "spec.template"
Gates = Mapping[str, bool]


class WorkloadStrategy(KindStrategy):
    """The main path of a workload: status has a path of its own, the generation counts changes of the spec."""

    def __init__(self, gates: Gates) -> None:
        self.gates = gates

    def fill(self, obj: Object) -> None:
        """The template's pods get the defaults that templates get."""
        template.default_template(obj["spec"]["template"])

    def prepare_create(self, obj: Object) -> None:
        """Nothing has happened yet."""
        obj["status"] = shape.zero(f"{self.type_name}Status")
        obj["metadata"]["generation"] = 1
        template.drop_disabled(obj["spec"]["template"], None, self.gates)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status stays; the generation counts."""
        keep(obj, old, "status")
        template.drop_disabled(obj["spec"]["template"], old["spec"]["template"], self.gates)
        count_generation(obj, old, changed=self.is_changed(obj, old))

    def is_changed(self, obj: Object, old: Object) -> bool:
        """Whether there is anything new for the controller to look at."""
        return not same(obj["spec"], old["spec"])

    def warnings(self, obj: Object) -> list[str]:
        """The name, and whatever the template's pods would warn of."""
        return [*name_warnings(obj), *template_warnings(obj)]

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Only where something changed."""
        if obj["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return template.template_warnings(obj["spec"]["template"], old["spec"]["template"], TEMPLATE)


def check_selector(spec: Object, workload: str) -> list[FieldError]:
    """A selector that says something."""
    selector = spec.get("selector")
    if selector is None:
        return [fielderrors.required("spec.selector")]
    errors: list[FieldError] = []
    validate_label_selector(selector, "spec.selector", errors)
    if not selector:
        errors.append(fielderrors.invalid("spec.selector", {}, f"empty selector is invalid for {workload}"))
    return errors


def compiled(spec: Object) -> selectors.LabelSelector | None:
    """The selector, or None where it cannot be read."""
    try:
        return selectors.from_object(spec.get("selector"))
    except SelectorFault:
        return None


def check_match(selector: selectors.LabelSelector, spec: Object) -> list[FieldError]:
    """The selector must select the pods that the template makes."""
    labels = spec["template"].get("metadata", {}).get("labels")
    if selector.matches(labels or {}):
        return []
    return [fielderrors.invalid("spec.template.metadata.labels", labels, _MISMATCH)]


def check_running_template(spec: Object, gates: Gates, workload: str) -> list[FieldError]:
    """A template of pods that run until they are replaced."""
    errors = template.validate_template(spec["template"], TEMPLATE, gates)
    pod = spec["template"]["spec"]
    if pod.get("restartPolicy") != "Always":
        field = "spec.template.spec.restartPolicy"
        errors.append(fielderrors.not_supported(field, pod.get("restartPolicy", ""), ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {workload} is not Supported"
        errors.append(fielderrors.forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


def check_replicated(spec: Object, gates: Gates) -> list[FieldError]:
    """Selector and template of Deployments and ReplicaSets."""
    errors = check_selector(spec, "deployment")
    selector = compiled(spec)
    if selector is None:
        return [*errors, fielderrors.invalid("spec.selector", spec.get("selector"), "invalid label selector")]
    if not selector.empty:
        errors += check_match(selector, spec)
    return errors + check_running_template(spec, gates, "ReplicaSet")


def check_selector_kept(obj: Object, old: Object) -> list[FieldError]:
    """Changing the selector would orphan what is there."""
    selector = obj["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [fielderrors.invalid("spec.selector", selector, "field is immutable")]


def template_warnings(obj: Object) -> list[str]:
    """What the pods of a new template would warn of."""
    return template.template_warnings(obj["spec"]["template"], None, TEMPLATE)


def name_warnings(obj: Object) -> list[str]:
    """Pods carry the workload's name as their host name."""
    complaints = names.dns1123_label(obj["metadata"].get("name", ""))
    if not complaints:
        return []
    text = "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is"
    return [f"metadata.name: {text} recommended: [{' '.join(complaints)}]"]


def wide_cells(obj: Object, selector: str) -> list[Any]:
    """Containers, images and the selector, for ``-o wide``."""
    containers = obj["spec"]["template"].get("spec", {}).get("containers") or []
    return [
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
        selector,
    ]


def selector_text(obj: Object) -> str:
    """The selector as text, for people."""
    selector = compiled(obj["spec"])
    return "<error>" if selector is None else str(selector) or "<none>"
