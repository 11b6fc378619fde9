"""``flexlet vm plan`` as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Api, Command, until
from tests.cli.machines import DEFINITIONS, FLEX_VMS, made, taught

from flexlet.api.status import NotFound
from flexlet.cli.main import run
from flexlet.core.vm import kubevirt
from flexlet.ports.cluster import Ref

pytestmark = pytest.mark.slow

KUBEVIRT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db, namespace: shop}
spec:
  template:
    spec:
      domain:
        cpu: {sockets: 2, cores: 2, maxSockets: 8}
        memory: {guest: 8Gi}
        resources: {requests: {memory: 8Gi}}
"""
SHOWN = """\
VirtualMachine shop/db

                         NOW     THEN
guest vCPUs              4       8
guest memory             8Gi     16Gi
pod cpu                  400m    800m
pod memory               8520Mi  16760Mi
overhead                 328Mi   376Mi
  page tables            16Mi    32Mi
  virt-launcher-monitor  25Mi    25Mi
  virt-launcher          100Mi   100Mi
  virtlogd               25Mi    25Mi
  virtqemud              40Mi    40Mi
  qemu                   50Mi    50Mi
  vCPUs                  32Mi    64Mi
  I/O thread             8Mi     8Mi
  graphics               32Mi    32Mi

in place:
  1. pod: resize to cpu 800m, memory 8552Mi
  2. guest: plug 4 vCPUs: 8
  3. pod: resize to cpu 800m, memory 16760Mi
  4. guest: plug memory: 8Gi -> 16Gi

quota requests.memory: 8240Mi more in place, 16760Mi more by a migration's second pod
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "vm.yaml"
    path.write_text(KUBEVIRT)
    return str(path)


@pytest.mark.parametrize("knob", [("--vcpus", "8"), ("--sockets", "4")])
def test_a_plan(capfd: pytest.CaptureFixture[str], file: str, knob: tuple[str, str]) -> None:
    code = run(["vm", "plan", "-f", file, *knob, "--memory", "16Gi"])
    assert (code, capfd.readouterr().out) == (0, SHOWN)


def test_settings_are_those_of_the_controllers_or_said_to_be_assumed(
    capfd: pytest.CaptureFixture[str], file: str, tmp_path: Path
) -> None:
    asked = ["vm", "plan", "-f", file, "--sockets", "4", "-o", "json"]
    assert run(asked) == 0
    assert capfd.readouterr().err.startswith("settings assumed: vmRolloutStrategy LiveUpdate, maxHotplugRatio 4, ")
    config = tmp_path / "vms.yaml"
    config.write_text("apiVersion: vm.flexlet.io/v1alpha1\nkind: FlexletConfig\nvmRolloutStrategy: Stage\n")
    assert run([*asked, "--vm-config", str(config)]) == 3
    said = capfd.readouterr()
    assert said.err == (
        f"settings of {config}: vmRolloutStrategy Stage, maxHotplugRatio 4, cpuAllocationRatio 10,"
        " memoryOvercommit 100\n"
    )
    assert [each["message"] for each in json.loads(said.out)["hindrances"]] == [
        "with vmRolloutStrategy Stage every change waits for the next start"
    ]


def test_what_hinders_is_code_3(capfd: pytest.CaptureFixture[str], file: str) -> None:
    code = run(["vm", "plan", "-f", file, "--sockets", "9", "-o", "json"])
    found = json.loads(capfd.readouterr().out)
    assert (code, found["inPlace"], found["steps"]) == (3, False, [])
    assert found["after"]["pod"] == {"requests": {"cpu": "1800m", "memory": "8632Mi"}}
    assert found["hindrances"] == [
        {
            "resource": "cpu",
            "reason": "RestartRequired",
            "message": "CPU sockets updated in template spec to a value higher than what's available",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ((), 2, "Error: name a machine: either -f FILE or --from-cluster NAME"),
        (("--vcpus", "8", "--sockets", "4"), 2, "Error: --vcpus and --sockets say the same: give one of them"),
        (("--vcpus", "5"), 2, "Error: db has 2 vCPUs a socket: give a multiple of that, or --sockets"),
    ],
)
def test_what_cannot_be_asked(
    capfd: pytest.CaptureFixture[str], file: str, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    given = ("-f", file) if arguments else ()
    assert run(["vm", "plan", *given, *arguments]) == code
    assert capfd.readouterr().err.splitlines()[-1] == complaint


def test_a_file_without_machines(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("kind: Pod\n")
    assert run(["vm", "plan", "-f", str(path)]) == 1
    assert capfd.readouterr().err == (
        f"error: {path}: there is no VirtualMachine, VirtualMachineInstance or FlexVM in it\n"
    )


def definition(plural: str, kind: str) -> dict[str, Any]:
    """KubeVirt's own, as far as it matters: it takes anything."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def knows(api: Api, ref: Ref) -> bool:
    try:
        api.do(lambda cluster: cluster.list(ref))
    except NotFound:
        return False
    return True


def test_a_machine_of_the_cluster(api: Api, flexlet: Command) -> None:
    """Our own where KubeVirt is not known; KubeVirt's with what its instance says; nobody's is named."""
    taught(api)
    made(api)
    code, text, _ = flexlet("vm", "plan", "--from-cluster", "db", "--vcpus", "8", "-o", "json")
    found = json.loads(text)
    assert (code, found["kind"], found["after"]["vcpus"]) == (0, "FlexVM", 8)
    api.delete(FLEX_VMS, "db", "default")
    machines, instances = Ref(*kubevirt.MACHINES), Ref(*kubevirt.INSTANCES)
    api.create(DEFINITIONS, definition("virtualmachines", "VirtualMachine"))
    api.create(DEFINITIONS, definition("virtualmachineinstances", "VirtualMachineInstance"))
    until(lambda: knows(api, machines) and knows(api, instances))
    *_, body = yaml.safe_load_all(KUBEVIRT)
    api.create(machines, body | {"metadata": {"name": "kv"}}, "default")
    running = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "kv"},
        "spec": body["spec"]["template"]["spec"],
        "status": {"memory": {"guestAtBoot": "4Gi", "guestCurrent": "8Gi"}},
    }
    api.create(instances, running, "default")
    code, text, _ = flexlet("vm", "plan", "--from-cluster", "kv", "--memory", "4Gi", "-o", "json")
    found = json.loads(text)
    assert (code, found["kind"], found["before"]["memory"]) == (0, "VirtualMachine", "8Gi")
    assert [step["text"] for step in found["steps"]] == [
        "unplug memory: 8Gi -> 4Gi",
        "resize to cpu 400m, memory 4416Mi",
    ]
    _check_settings_of_kubevirt(api, flexlet)
    assert flexlet("vm", "plan", "--from-cluster", "nobody")[::2] == (
        1,
        "error: there is no VM nobody in namespace default: there are no VMs\n",
    )


def _check_settings_of_kubevirt(api: Api, flexlet: Command) -> None:
    """They lie in the cluster."""
    clusters = Ref(*kubevirt.CLUSTERS)
    api.create(DEFINITIONS, definition("kubevirts", "KubeVirt"))
    until(lambda: knows(api, clusters))
    update = {"maxHotplugRatio": 2, "maxGuest": "32Gi", "maxCpuSockets": 12}
    more = {"developerConfiguration": {"cpuAllocationRatio": 4}, "additionalGuestMemoryOverheadRatio": "1.5"}
    body = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": {"liveUpdateConfiguration": update, **more}},
    }
    api.create(clusters, body, "default")
    _, text, talk = flexlet("vm", "plan", "--from-cluster", "kv", "-o", "json")
    assert json.loads(text)["before"]["pod"]["requests"]["cpu"] == "1"
    assert talk == (
        "settings of KubeVirt default/kubevirt: vmRolloutStrategy LiveUpdate, maxHotplugRatio 2, maxCpuSockets 12,"
        " maxGuest 32Gi, cpuAllocationRatio 4, memoryOvercommit 100, additionalGuestMemoryOverheadRatio 1.5\n"
    )
