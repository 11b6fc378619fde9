"""Pod templates in workloads: the rules of pods, less what only a pod of its own has."""

from typing import Any

from tests.apiserver.kinds.pod.pods import GATES, copied

from flexlet.apiserver.kinds.template import default_template, drop_disabled, template_warnings, validate_template

PATH = "spec.template"


def template(spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A defaulted template with one container."""
    whole = {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "busybox"}], **copied(spec)}}
    default_template(whole)
    return whole


def test_defaults() -> None:
    """A template gets the defaults of a spec; requests from limits come with the pods made of it."""
    container = {"name": "c", "image": "busybox", "resources": {"limits": {"cpu": "0.0005", "memory": "1024Mi"}}}
    obj = template({"containers": [container], "serviceAccount": "a", "terminationGracePeriodSeconds": -1})
    assert obj["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "busybox",
                "imagePullPolicy": "Always",
                "resources": {"limits": {"cpu": "1m", "memory": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "a",
        "serviceAccountName": "a",
        "terminationGracePeriodSeconds": -1,
    }


def test_looser_than_pods() -> None:
    """Host ports, image volumes and odd image names are settled when pods are made."""
    container = {"name": "c", "image": " ", "ports": [{"containerPort": 80}]}
    volumes = [{"name": "i", "image": {}}]
    obj = template({"hostNetwork": True, "containers": [container], "volumes": volumes})
    assert validate_template(obj, PATH, GATES) == []


def test_findings_carry_the_path() -> None:
    """Paths lead through the template; its labels are reported beside its metadata."""
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    spec = {
        "ephemeralContainers": [{"name": "e", "image": "x"}],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "hostNetwork": True,
        "containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 80, "hostPort": 81}]}],
    }
    found = validate_template(template(spec, labels={"a": "-"}, annotations=annotations), PATH, GATES)
    assert [(error.field, error.reason) for error in found] == [
        ("spec.template.labels", "FieldValueInvalid"),
        ("spec.template.spec.containers[0].ports[0].hostPort", "FieldValueInvalid"),
        ("spec.template.spec.securityContext.seccompProfile.type", "FieldValueForbidden"),
        ("spec.template.spec.ephemeralContainers", "FieldValueForbidden"),
    ]


def test_warnings_for_what_is_new() -> None:
    """A template warns like its pods would, and not again when nothing changed."""
    obj = template({"nodeSelector": {"beta.kubernetes.io/os": "linux"}})
    text = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    assert template_warnings(obj, None, PATH) == [f"{PATH}.spec.nodeSelector[beta.kubernetes.io/os]: {text}"]
    assert template_warnings(obj, copied(obj), PATH) == []


def test_gates() -> None:
    """A gate that is off takes its fields from new templates."""
    obj = template({"resources": {"requests": {"cpu": "1"}}})
    drop_disabled(obj, copied(obj), {**GATES, "PodLevelResources": False})
    assert "resources" in obj["spec"]
    drop_disabled(obj, None, {**GATES, "PodLevelResources": False})
    assert "resources" not in obj["spec"]
