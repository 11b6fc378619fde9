"""The functions of rules: CEL's own, and those of Kubernetes' libraries that definitions commonly use.

By name and number of arguments; a method's target is its first argument. A value of the wrong type is an error of
the rule, in CEL's words.
"""

import ipaddress
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from flexlet.api import gotext
from flexlet.apiserver.crd.cel.conversions import (
    as_integer,
    compared,
    ip_address,
    is_integer,
    or_value,
    part_of,
    size_of,
    succeeds,
    to_bool,
    to_cidr,
    to_double,
    to_duration,
    to_int,
    to_quantity,
    to_string,
    to_timestamp,
    to_url,
    typed,
    value_of,
)
from flexlet.apiserver.crd.cel.lists import (
    distinct,
    extreme,
    index_of,
    is_sorted,
    joined,
    last_index_of,
    sliced,
    total,
)
from flexlet.apiserver.crd.cel.texts import (
    char_at,
    find_all,
    find_first,
    formatted,
    matches,
    of_text,
    split,
    substring,
)
from flexlet.apiserver.crd.cel.values import Optional, contains, type_of

_SECOND: Final = 10**9
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "size": size_of,
    "contains": of_text(lambda text, part: typed(part, str) in text),
    "startsWith": of_text(lambda text, start: text.startswith(typed(start, str))),
    "endsWith": of_text(lambda text, end: text.endswith(typed(end, str))),
    "matches": of_text(matches),
    "find": of_text(find_first),
    "findAll": of_text(find_all),
    "charAt": of_text(char_at),
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "lowerAscii": of_text(str.lower),
    "upperAscii": of_text(str.upper),
    "replace": of_text(lambda text, old, new, count=-1: text.replace(old, new, count)),
    "split": of_text(split),
    "substring": of_text(substring),
    "trim": of_text(str.strip),
    "reverse": lambda value: typed(value, str, list)[::-1],
    "join": joined,
    "slice": sliced,
    "distinct": distinct,
    "format": of_text(formatted),
    "isSorted": is_sorted,
    "sum": total,
    "min": lambda items: extreme(items, -1, "min"),
    "max": lambda items: extreme(items, 1, "max"),
    "hasValue": lambda found: typed(found, Optional).present,
    "value": value_of,
    "orValue": or_value,
    "or": lambda found, other: found if typed(found, Optional).present else other,
    "isGreaterThan": lambda left, right: compared(left, right) > 0,
    "isLessThan": lambda left, right: compared(left, right) < 0,
    "compareTo": compared,
    "isInteger": is_integer,
    "asInteger": as_integer,
    "getFullYear": lambda time: typed(time, datetime).year,
    "getMonth": lambda time: typed(time, datetime).month - 1,
    "getDate": lambda time: typed(time, datetime).day,
    "getDayOfMonth": lambda time: typed(time, datetime).day - 1,
    "getDayOfWeek": lambda time: typed(time, datetime).isoweekday() % 7,
    "getHours": part_of("hour", 3600 * _SECOND),
    "getMinutes": part_of("minute", 60 * _SECOND),
    "getSeconds": part_of("second", _SECOND),
    "getScheme": lambda url: urlsplit(to_url(url)).scheme,
    "getHost": lambda url: urlsplit(to_url(url)).netloc.rpartition("@")[2],
    "getHostname": lambda url: urlsplit(to_url(url)).hostname or "",
    "getPort": lambda url: str(urlsplit(to_url(url)).port or ""),
    "getEscapedPath": lambda url: urlsplit(to_url(url)).path,
    "family": lambda address: ipaddress.ip_address(ip_address(address)).version,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "size": size_of,
    "matches": of_text(matches),
    "int": to_int,
    "uint": to_int,
    "double": to_double,
    "string": to_string,
    "bytes": lambda value: value.encode() if isinstance(value, str) else typed(value, bytes),
    "bool": to_bool,
    "type": type_of,
    "dyn": lambda value: value,
    "timestamp": to_timestamp,
    "duration": to_duration,
    "quantity": to_quantity,
    "isQuantity": succeeds(to_quantity),
    "url": to_url,
    "isURL": succeeds(to_url),
    "ip": ip_address,
    "isIP": succeeds(ip_address),
    "cidr": to_cidr,
    "isCIDR": succeeds(to_cidr),
    "optional.of": lambda value: Optional(value, True),
    "optional.none": Optional,
    "sets.contains": lambda all_, some: all(contains(typed(all_, list), item) for item in typed(some, list)),
    "sets.intersects": lambda left, right: any(contains(typed(left, list), item) for item in typed(right, list)),
    "sets.equivalent": (
        lambda left, right: all(contains(left, item) for item in right) and all(contains(right, x) for x in left)
    ),
    "strings.quote": lambda text: gotext.quote(typed(text, str)),
}
NAMESPACES: Final = frozenset(name.partition(".")[0] for name in FUNCTIONS if "." in name)
