"""Names, uids and times that the server gives, and the checks of an object against its URL."""

import random
import string
from typing import Final

from flexlet.api import status
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.rest.call import Call, metadata_of
from flexlet.apiserver.rest.uids import new_uid

# Without vowels and look-alikes, so that no words appear; upstream's alphabet.
SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH: Final = 5
MAX_GENERATED_BASE: Final = 58
GENERATE_ATTEMPTS: Final = 8
MAX_DIGITS: Final = 20  # of 2**64; what is longer is not even read
SYSTEM_FIELDS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "uid",
)

_random: Final = random.Random()  # noqa: S311  names are no secrets


def generated_name(base: str) -> str:
    """A name that begins with `base` and is most likely free."""
    suffix = "".join(_random.choice(SUFFIX_ALPHABET) for _ in range(SUFFIX_LENGTH))
    return base[:MAX_GENERATED_BASE] + suffix


def place(call: Call, obj: Object) -> None:
    """Put the object where the URL says, or refuse one that says otherwise."""
    metadata = metadata_of(obj)
    if not call.kind.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace") not in {None, "", call.namespace}:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = call.namespace


def require_name(call: Call, obj: Object) -> None:
    """An update must name the object that the URL names."""
    name = metadata_of(obj).get("name")
    if not name:
        raise status.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


def wipe(metadata: Object) -> None:
    """Drop what only the server may set."""
    for field in SYSTEM_FIELDS:
        metadata.pop(field, None)


def stamp(metadata: Object, now: str) -> None:
    """Give a new object its identity, and a name if it asks for one."""
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"])
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = now


def given_revision(metadata: Object) -> int:
    """The resourceVersion a client sent; 0 where it sent none."""
    text = metadata.get("resourceVersion") or "0"
    if not is_uint(text):
        raise status.failure(500, message=f"resourceVersion: Invalid value: {text_of(text)}: {uint_error(text)}")
    return int(text)


def is_uint(text: str) -> bool:
    """Whether upstream's ParseUint reads it."""
    digits = bool(text) and all(char in string.digits for char in text)
    return digits and len(text.lstrip("0")) <= MAX_DIGITS and int(text) < 2**64


def uint_error(text: str) -> str:
    """What upstream's ParseUint says about it."""
    detail = "value out of range" if text and all(char in string.digits for char in text) else "invalid syntax"
    return f"strconv.ParseUint: parsing {text_of(text)}: {detail}"


def text_of(text: str) -> str:
    """The text in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
