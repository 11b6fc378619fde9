"""The status of a Node as it should be, on top of the status it has.

What the machine decides is written over, what others advertise stays: extended resources keep their amounts,
conditions of other agents their place, and with an external cloud provider the addresses are its business.
"""

from typing import Any, Final

from flexlet.api import decode
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.machine.allocatable import allocatable, capped
from flexlet.core.machine.capacity import capacity
from flexlet.core.machine.machine import Machine
from flexlet.core.node import conditions, readiness
from flexlet.core.node.conditions import Conditions
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.settings import NodeSettings
from flexlet.core.resources.names import is_hugepages
from flexlet.core.runtime.shown import Image, RuntimeHandler

Object = dict[str, Any]

NAMES_PER_IMAGE: Final = 5


def status(published: Object, settings: NodeSettings, facts: NodeFacts, now: float) -> tuple[Object, Conditions]:
    """The whole status, foreign parts included, and the conditions with their news."""
    whole = node_capacity(settings, facts.machine, amounts(published.get("capacity")))
    left = allocatable(whole, settings.reservation, amounts(published.get("allocatable")))
    left = {name: amount for name, amount in left.items() if name in whole or not is_hugepages(name)}
    if facts.resizing is not None:
        left = capped(left, facts.resizing.ceiling)
    wrong = readiness.problems(facts, whole, now, storage_is_counted=settings.storage_is_counted)
    found = conditions.conditions(published.get("conditions") or [], facts, wrong, now)
    rendered = {
        "capacity": decode.to_value(whole),
        "allocatable": decode.to_value(left),
        "conditions": list(found.all),
        "addresses": _addresses(published, settings, facts),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": settings.port}},
        "nodeInfo": node_info(settings, facts),
        "images": images(facts.images, settings.max_images),
        "runtimeHandlers": _handlers(() if facts.runtime is None else facts.runtime.handlers),
        "features": _features(facts),
        "declaredFeatures": sorted(settings.declared_features),
    }
    return {key: value for key, value in (published | rendered).items() if value}, found


def node_capacity(settings: NodeSettings, machine: Machine, published: ResourceList) -> ResourceList:
    """What the node has; sizes of huge pages that the machine no longer offers are dropped."""
    return capacity(
        cpus=len(machine.cpus),
        memory=machine.memory,
        hugepages=machine.hugepages,
        ephemeral_storage=machine.storage if settings.storage_is_counted else None,
        max_pods=settings.max_pods,
        pods_per_core=settings.pods_per_core,
        published={name: amount for name, amount in published.items() if not is_hugepages(name)},
    )


def node_info(settings: NodeSettings, facts: NodeFacts) -> Object:
    """Who the machine is and what runs on it."""
    identity, runtime = facts.machine.identity, facts.runtime_version
    info: Object = {
        "machineID": identity.machine_id,
        "systemUUID": identity.system_uuid,
        "bootID": identity.boot_id,
        "kernelVersion": identity.kernel,
        "osImage": identity.os_image,
        "containerRuntimeVersion": "" if runtime is None else f"{runtime.name}://{runtime.version or 'Unknown'}",
        "kubeletVersion": settings.version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": identity.architecture,
    }
    return info | ({"swap": {"capacity": facts.machine.swap}} if facts.machine.swap else {})


def images(found: tuple[Image, ...], most: int) -> list[Object]:
    """The largest images first, digests before tags; the scheduler prefers nodes that have an image."""
    largest = sorted(found, key=lambda image: (image.size, image.id), reverse=True)
    return [
        {"names": names, "sizeBytes": image.size} if names else {"sizeBytes": image.size}
        for image in (largest if most < 0 else largest[:most])
        for names in ([*image.digests, *image.tags][:NAMES_PER_IMAGE],)
    ]


def amounts(texts: dict[str, Any] | None) -> ResourceList:
    """A resource list as it came from the API."""
    return {name: Quantity.parse(str(text)) for name, text in (texts or {}).items()}


def _addresses(published: Object, settings: NodeSettings, facts: NodeFacts) -> list[Object]:
    found: list[Object] = published.get("addresses") or []
    if settings.external_cloud and found:
        return found
    own = [{"type": each.type, "address": each.address} for each in facts.addresses]
    if settings.external_cloud and not settings.node_ips:
        return [each for each in own if each["type"] == "Hostname"]
    return own or found


def _handlers(handlers: tuple[RuntimeHandler, ...]) -> list[Object]:
    return [
        {
            "name": handler.name,
            "features": {
                "recursiveReadOnlyMounts": handler.recursive_read_only_mounts,
                "userNamespaces": handler.user_namespaces,
            },
        }
        for handler in sorted(handlers, key=lambda handler: handler.name)
    ]


def _features(facts: NodeFacts) -> Object:
    policy = None if facts.runtime is None else facts.runtime.supplemental_groups_policy
    return {} if policy is None else {"supplementalGroupsPolicy": policy}
