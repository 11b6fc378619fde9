"""A machine `db` in an API server, and a controller that says of it what a test tells it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from tests.cli.conftest import Api, Json, until
from tests.core.sizes.vmkit import DOMAIN, POD, RUNNING, started, vm

from flexlet.api.status import ApiError, NotFound
from flexlet.cli.manifests import manifests, objects
from flexlet.core.vm import names
from flexlet.ports.cluster import Ref

FLEX_VMS = Ref(*names.FLEX_VMS)
MIGRATIONS = Ref(*names.MIGRATIONS)
DEFINITIONS = Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def taught(api: Api) -> None:
    """Let a server know the kinds of machines."""
    for definition in objects(manifests(["flexvm"])):
        api.create(DEFINITIONS, definition)
    until(lambda: _knows(api))


def _knows(api: Api) -> bool:
    try:
        api.do(lambda cluster: cluster.list(FLEX_VMS))
        api.do(lambda cluster: cluster.list(MIGRATIONS))
    except NotFound:
        return False
    return True


def made(api: Api, name: str = "db", domain: Json | None = None, **spec: Any) -> None:
    """A machine that nobody has looked at."""
    template = {"template": {"spec": {"domain": DOMAIN | (domain or {})}}}
    about = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": {"name": name}}
    api.create(FLEX_VMS, about | {"spec": template | spec}, "default")


def running(api: Api, name: str = "db", **status: Any) -> None:
    """Say that it runs in its pod on node n1."""
    meta = api.get(FLEX_VMS, name, "default")["metadata"]
    said = RUNNING | {"observedGeneration": meta["generation"]} | status
    api.patch(FLEX_VMS, name, {"status": said}, "default", subresource="status")


def launcher(api: Api, name: str = "virt-launcher-db") -> None:
    """Its pod, on node n1, with what it started."""
    notes = {names.MACHINE: msgspec.json.encode(started(vm())).decode()}
    api.pod(name, "n1", {"requests": POD["allocated"]}, metadata={"annotations": notes})


@contextmanager
def answered(api: Api, ref: Ref, name: str, *answers: Json) -> Iterator[None]:
    """A controller that says this of the next wish, one status after the other."""
    stop = threading.Event()
    first = _generation(api, ref, name)

    def answer() -> None:
        while not stop.is_set() and _generation(api, ref, name) == first:
            stop.wait(0.02)
        for status in answers:
            while not stop.is_set() and not _say(api, ref, name, status):
                stop.wait(0.02)
            stop.wait(0.4)

    controller = threading.Thread(target=answer)
    controller.start()
    try:
        yield
    finally:
        stop.set()
        controller.join()


def _generation(api: Api, ref: Ref, name: str) -> tuple[object, ...]:
    """Of an object that need not be there, or of the first of its kind."""
    found = _found(api, ref, name)
    meta = found["metadata"] if found else {}
    return meta.get("generation"), meta.get("annotations")


def _found(api: Api, ref: Ref, name: str) -> Json | None:
    items = [json.loads(item) for item in api.do(lambda cluster: cluster.list(ref, "default")).items]
    return next((item for item in items if item["metadata"]["name"].startswith(name)), None)


def _say(api: Api, ref: Ref, name: str, status: Json) -> bool:
    try:
        meta = (_found(api, ref, name) or {})["metadata"]
        said: Json = {"observedGeneration": meta["generation"]} if ref == FLEX_VMS else {}
        said |= status
        notes = meta.get("annotations", {})
        if "resize" in status:
            said["resize"] = status["resize"] | {"request": notes[names.REQUESTED]}
        if "power" in status:
            said["power"] = notes[names.POWER]
        api.patch(ref, meta["name"], {"status": said}, "default", subresource="status")
    except (ApiError, KeyError):
        return False
    return True
