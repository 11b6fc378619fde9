"""The launcher pod."""

from tests.core.vm.vmworld import Json, machine_spec

from flexlet.api import decode
from flexlet.core.vm import manifest, names
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted


def made(spec: Json, **parts: Json) -> tuple[FlexVM, Json]:
    metadata = {"name": "db", "namespace": "default", "uid": "vm-1"}
    vm = decode.from_value({"metadata": metadata, "spec": spec, **parts}, FlexVM)
    size, settings = wanted(vm, Settings()), Settings()
    amounts = need(size, size.vcpus, size.memory, settings)
    return vm, manifest.launcher_pod(vm, size, machine(vm, settings), amounts, settings, overhead=1)


def test_the_pod_of_a_plain_machine() -> None:
    spec = machine_spec()
    spec["template"]["metadata"] = {"labels": {"app": "db"}, "annotations": {"team": "a"}}
    spec["template"]["spec"] |= {
        "nodeSelector": {"disk": "fast"},
        "priorityClassName": "high",
        "terminationGracePeriodSeconds": 60,
    }
    _, pod = made(spec)
    text = pod["metadata"]["annotations"].pop(names.MACHINE)
    assert pod == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "virt-launcher-db",
            "namespace": "default",
            "labels": {"app": "db", names.LABEL: "db", names.CREATED_BY: "vm-1"},
            "annotations": {"team": "a", names.OVERHEAD: "1"},
            "ownerReferences": [
                {
                    "apiVersion": "vm.flexlet.io/v1alpha1",
                    "kind": "FlexVM",
                    "name": "db",
                    "uid": "vm-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 75,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "nodeSelector": {"disk": "fast"},
            "priorityClassName": "high",
            "containers": [
                {
                    "name": "compute",
                    "image": Settings().image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["flexlet", "vm-launcher", "run"],
                    "env": [{"name": "FLEXLET_VM_MACHINE", "value": text}],
                    "resources": {"requests": {"cpu": "400m", "memory": "8520Mi"}},
                    "resizePolicy": [
                        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
                        {"resourceName": "memory", "restartPolicy": "NotRequired"},
                    ],
                    "volumeMounts": [{"name": "run", "mountPath": "/run/flexlet-vm"}],
                }
            ],
            "volumes": [{"name": "run", "emptyDir": {}}],
        },
    }


def test_disks_come_from_images_nodes_and_nowhere() -> None:
    spec = machine_spec(firmware={"kernelBoot": {"hostPath": "/srv/boot", "kernelPath": "vmlinuz"}})
    spec["template"]["spec"]["volumes"] = [
        {"name": "root", "containerDisk": {"image": "disks/debian"}},
        {"name": "data", "hostDisk": {"path": "/srv/disks/data.img", "type": "DiskOrCreate", "capacity": "1Gi"}},
        {"name": "tmp", "emptyDisk": {"capacity": "1Gi"}},
    ]
    _, pod = made(spec)
    assert pod["spec"]["volumes"] == [
        {"name": "run", "emptyDir": {}},
        {"name": "disk-root", "emptyDir": {}},
        {"name": "disk-data", "hostPath": {"path": "/srv/disks", "type": "DirectoryOrCreate"}},
        {"name": "disk-tmp", "emptyDir": {}},
        {"name": "kernel", "hostPath": {"path": "/srv/boot", "type": "Directory"}},
        {"name": "tools", "emptyDir": {}},
    ]
    assert pod["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "run", "mountPath": "/run/flexlet-vm"},
        {"name": "disk-root", "mountPath": "/var/lib/flexlet-vm/disks/root"},
        {"name": "disk-data", "mountPath": "/var/lib/flexlet-vm/disks/data"},
        {"name": "disk-tmp", "mountPath": "/var/lib/flexlet-vm/disks/tmp"},
        {"name": "kernel", "mountPath": "/var/lib/flexlet-vm/kernel", "readOnly": True},
    ]
    assert [(c["name"], c["image"], c["command"][0]) for c in pod["spec"]["initContainers"]] == [
        ("lend-tools", Settings().image, "/bin/busybox"),
        ("copy-root", "disks/debian", "/flexlet-tools/busybox"),
    ]


def test_files_of_a_kernel_image_keep_their_paths() -> None:
    container = {"image": "kernels/6", "kernelPath": "/boot/vmlinuz", "initrdPath": "/boot/initrd"}
    vm, pod = made(machine_spec(firmware={"kernelBoot": {"container": container}}))
    script = pod["spec"]["initContainers"][1]["command"][-1]
    assert script == (
        "set -e; /flexlet-tools/busybox mkdir -p /flexlet-out/boot;"
        " /flexlet-tools/busybox cp /boot/vmlinuz /flexlet-out/boot/vmlinuz;"
        " /flexlet-tools/busybox mkdir -p /flexlet-out/boot;"
        " /flexlet-tools/busybox cp /boot/initrd /flexlet-out/boot/initrd"
    )
    assert machine(vm, Settings()).kernel == "/var/lib/flexlet-vm/kernel/boot/vmlinuz"


def test_huge_pages_are_asked_for_once() -> None:
    _, pod = made(machine_spec(memory={"guest": "8Gi", "hugepages": {"pageSize": "2Mi"}}))
    resources = pod["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["hugepages-2Mi"], resources["limits"]["hugepages-2Mi"]) == ("8Gi", "8Gi")
    assert pod["spec"]["volumes"][-1] == {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}}


def test_a_resize_names_the_version_it_was_decided_on() -> None:
    patch = manifest.resize_patch(Need(800, 1 << 30, None, 2 << 30), resource_version="7", uid="p")
    assert patch == {
        "metadata": {"resourceVersion": "7", "uid": "p"},
        "spec": {
            "containers": [
                {
                    "name": "compute",
                    "resources": {"requests": {"cpu": "800m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
                }
            ]
        },
    }


def test_long_names_are_shortened_and_stay_different() -> None:
    one, other = manifest.name_of("x" * 70), manifest.name_of("x" * 71)
    assert (len(one), len(other), one == other) == (63, 63, False)
