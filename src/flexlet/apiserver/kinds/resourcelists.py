"""Resource names and amounts in nodes, quotas and limit ranges.

Names are standard words or qualified by a domain; amounts are never negative and some come whole. Follows
``pkg/apis/core/helper`` and the rules of ``pkg/apis/core/validation`` that every resource list shares. Pods have
their own list of what a container may ask for.
"""

from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.decode import quantity
from flexlet.api.fielderrors import FieldError
from flexlet.api.quantity import NANO

_DOMAIN: Final = "kubernetes.io/"
_REQUESTS: Final = "requests."
_HUGEPAGES: Final = "hugepages-"

_COUNTED: Final = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
_COMPUTE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
STANDARD: Final = frozenset(
    {
        *_COUNTED,
        *(prefix + name for prefix in ("", _REQUESTS, "limits.") for name in _COMPUTE),
        *("storage", "requests.storage"),
    }
)
QUOTA: Final = STANDARD - {"storage"}


def check_amount(name: str, amount: str, field: str) -> list[FieldError]:
    """Amounts are not negative; counted things and extended resources come whole."""
    value = quantity(amount)
    errors = []
    if value.nano < 0:
        errors.append(fielderrors.invalid(field, str(value), "must be greater than or equal to 0"))
    if is_whole(name) and value.nano % NANO:
        errors.append(fielderrors.invalid(field, str(value), "must be an integer"))
    return errors


def check_name(name: str, field: str) -> list[FieldError]:
    """A resource is a standard one or has a domain."""
    errors = [fielderrors.invalid(field, name, complaint) for complaint in names.qualified_name(name)]
    if not errors and "/" not in name and not is_standard(name):
        errors.append(fielderrors.invalid(field, name, "must be a standard resource type or fully qualified"))
    return errors


def check_container_name(name: str, field: str) -> list[FieldError]:
    """What a container may ask for."""
    errors = check_name(name, field)
    if "/" not in name:
        if name not in _COMPUTE and not name.startswith(_HUGEPAGES):
            errors.append(fielderrors.invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(fielderrors.invalid(field, name, "doesn't follow extended resource name standard"))
    return errors


def check_quota_name(name: str, field: str) -> list[FieldError]:
    """What a quota may limit."""
    errors = check_name(name, field)
    if "/" not in name and not is_quota(name):
        errors.append(fielderrors.invalid(field, name, "must be a standard resource for quota"))
    return errors


def is_standard(name: str) -> bool:
    """One of Kubernetes' own names."""
    return name in STANDARD or _is_quota_hugepages(name)


def is_quota(name: str) -> bool:
    """A standard name that a quota may limit."""
    return name in QUOTA or _is_quota_hugepages(name)


def is_native(name: str) -> bool:
    """A name without a domain, or in Kubernetes' own."""
    return "/" not in name or _DOMAIN in name


def is_extended(name: str) -> bool:
    """A resource of somebody else's domain, such as a device."""
    if is_native(name) or name.startswith(_REQUESTS):
        return False
    return not names.qualified_name(_REQUESTS + name)


def is_whole(name: str) -> bool:
    """A resource of which there are no parts."""
    return name in _COUNTED or is_extended(name)


def is_overcommitted(name: str) -> bool:
    """Whether limits may exceed requests."""
    return is_native(name) and not name.startswith(_HUGEPAGES)


def _is_quota_hugepages(name: str) -> bool:
    return name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES))
