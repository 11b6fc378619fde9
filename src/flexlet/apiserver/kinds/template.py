"""Pod templates inside workloads: the rules of pods, less what only a pod of its own has.

A template has no name and no status, its resources are not defaulted (the pods made from it are), and its labels
and annotations are checked under the template's own path.
"""

from collections.abc import Mapping

import msgspec

from flexlet.api.fielderrors import FieldError, forbidden
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.annotations import validate_pod_annotations, validate_profiles_agree
from flexlet.apiserver.kinds.pod.defaults import default_spec, default_template_amounts, drop_legacy_annotations
from flexlet.apiserver.kinds.pod.disabled import drop_disabled_spec
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.scope import rules_of
from flexlet.apiserver.kinds.pod.spec import validate_spec
from flexlet.apiserver.kinds.pod.warnings import spec_warnings


def default_template(template: Object) -> None:
    """Complete a template in place."""
    template.setdefault("metadata", {})
    spec = template.setdefault("spec", {})
    drop_legacy_annotations(template)
    default_template_amounts(spec)
    default_spec(spec)


def drop_disabled(template: Object, old: Object | None, gates: Mapping[str, bool]) -> None:
    """Drop fields whose gate is off, unless the stored template uses them already."""
    drop_disabled_spec(template["spec"], old["spec"] if old else None, gates)


def validate_template(template: Object, path: str, gates: Mapping[str, bool]) -> list[FieldError]:
    """All findings about a template at `path`."""
    meta, spec = template.get("metadata") or {}, template["spec"]
    errors: list[FieldError] = []
    metadata.validate_labels(meta.get("labels") or {}, f"{path}.labels", errors)
    metadata.validate_annotations(meta.get("annotations") or {}, f"{path}.annotations", errors)
    validate_pod_annotations(meta.get("annotations") or {}, spec, f"{path}.annotations", errors)
    rules = msgspec.structs.replace(rules_of(gates), is_pod=False)
    validate_spec(spec, {}, f"{path}.spec", rules, errors)
    validate_profiles_agree(meta.get("annotations") or {}, spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        errors.append(
            forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
        )
    return errors


def template_warnings(template: Object, old: Object | None, path: str) -> list[str]:
    """Warnings about a new or changed template; an unchanged one was warned about before."""
    if old is not None and same(template["spec"], old["spec"]):
        return []
    return spec_warnings(template["spec"], template.get("metadata") or {}, f"{path}.")
