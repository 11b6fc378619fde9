"""File paths inside a pod, from the outside: what may not lead out of where it belongs."""

from flexlet.api.fielderrors import invalid
from flexlet.apiserver.kinds.pod.scope import Errors


def validate_no_backsteps(target: str, path: str, errors: Errors) -> None:
    """No step of the path is ``..``."""
    if ".." in target and ".." in target.split("/"):
        errors.append(invalid(path, target, "must not contain '..'"))


def validate_descending(target: str, path: str, errors: Errors) -> None:
    """A relative path that only goes down."""
    if target.startswith("/"):
        errors.append(invalid(path, target, "must be a relative path"))
    validate_no_backsteps(target, path, errors)


def validate_file_name(target: str, path: str, errors: Errors) -> None:
    """A relative path that only goes down; names that start with two dots are the kubelet's."""
    validate_descending(target, path, errors)
    if target.startswith("..") and not target.startswith("../"):
        errors.append(invalid(path, target, "must not start with '..'"))
