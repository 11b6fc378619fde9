"""Changing a request a little: its method, path, query, headers, or its body by value or by byte."""

import json
import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.fuzz import corpus, objects, oddities
from tests.fuzz.corpus import Request

Mutation = Callable[[random.Random, Request], Request]


def mutated(rng: random.Random, request: Request) -> Request:
    """The request with one thing changed."""
    return rng.choice(MUTATIONS)(rng, request)


def _method(rng: random.Random, request: Request) -> Request:
    return request._replace(method=rng.choice(oddities.METHODS))


def _path(rng: random.Random, request: Request) -> Request:
    parts = request.path.split("/")
    at = rng.randrange(len(parts))
    odd = rng.choice(oddities.SEGMENTS)
    change = rng.randrange(4)
    if change == 0:
        parts[at] = odd
    elif change == 1:
        parts.insert(at + 1, odd)
    elif change == 2 and len(parts) > 2:
        del parts[at]
    else:
        parts.append(odd)
    return request._replace(path=quote("/".join(parts) or "/", safe="/%?=&:"))


def _namespace(rng: random.Random, request: Request) -> Request:
    head, mark, rest = request.path.partition("/namespaces/")
    _, slash, tail = rest.partition("/")
    if not mark or not slash:
        return _path(rng, request)
    return request._replace(path=f"{head}{mark}{rng.choice(corpus.NAMESPACES)}/{tail}")


def _name(rng: random.Random, request: Request) -> Request:
    """Another object of the same kind, perhaps one that exists."""
    name = rng.choice(objects.NAMES)
    try:
        body = json.loads(request.body or b"")
        body["metadata"]["name"] = name
        request = request._replace(body=json.dumps(body).encode())
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    if request.method == "POST":
        return request
    parts = request.path.split("/")
    at = parts.index("namespaces") + 3 if "namespaces" in parts else len(parts) - 1
    if at < len(parts):
        parts[at] = name
    return request._replace(path="/".join(parts))


def _query(rng: random.Random, request: Request) -> Request:
    name = rng.choice(sorted(oddities.QUERY))
    kept = tuple(pair for pair in request.query if pair[0] != name or rng.random() < 0.3)
    return request._replace(query=(*kept, (name, rng.choice(oddities.QUERY[name]))))


def _header(rng: random.Random, request: Request) -> Request:
    name = rng.choice(sorted(oddities.HEADERS))
    kept = tuple(pair for pair in request.headers if pair[0].lower() != name.lower())
    if rng.random() < 0.2:
        return request._replace(headers=kept)
    return request._replace(headers=(*kept, (name, rng.choice(oddities.HEADERS[name]))))


def _other_body(rng: random.Random, request: Request) -> Request:
    other = rng.choice(corpus.recorded())
    kept = tuple(pair for pair in request.headers if pair[0].lower() != "content-type")
    kind = tuple(pair for pair in other.headers if pair[0].lower() == "content-type")
    return request._replace(body=other.body, headers=(*kept, *kind))


def _raw_body(rng: random.Random, request: Request) -> Request:
    return request._replace(body=rng.choice(oddities.RAW_BODIES))


def _bytes(rng: random.Random, request: Request) -> Request:
    data = bytearray(request.body or b"{}")
    at = rng.randrange(len(data) + 1)
    change = rng.randrange(4)
    if change == 0:
        del data[at:]
    elif change == 1:
        data[at:at] = rng.choice((b"\x00", b"\xff", b"{", b"]", b'"', b"\\u12", b",", b"1e999"))
    elif change == 2 and at < len(data):
        data[at] = rng.randrange(256)
    else:
        data[at : at + rng.randrange(20)] = b""
    return request._replace(body=bytes(data))


def _value(rng: random.Random, request: Request) -> Request:
    """Change one place of a JSON body."""
    try:
        body = json.loads(request.body or b"")
    except (ValueError, RecursionError):
        return _bytes(rng, request)
    places = list(_places(body))
    if not places:
        return _raw_body(rng, request)
    for _ in range(rng.choice((1, 1, 2))):
        container, key = rng.choice(places)
        _change(rng, container, key)
    return request._replace(body=json.dumps(body).encode())


def _places(value: Any) -> Any:
    """Every (container, key) inside a JSON value."""
    found = []
    todo = [value]
    while todo:
        at = todo.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        found += [(at, key) for key in keys]
        todo += [at[key] for key in keys]
    return found


def _change(rng: random.Random, container: Any, key: Any) -> None:
    if isinstance(container, list) and key >= len(container):
        return
    if isinstance(container, dict) and key not in container:
        return
    change = rng.randrange(6)
    if change <= 1:
        container[key] = rng.choice(oddities.SCALARS)
    elif change == 2:
        container[key] = rng.choice(([], {}, [None], {"": None}, [container[key]], {"a": container[key]}))
    elif change == 3:
        del container[key]
    elif change == 4 and isinstance(container, dict):
        container[rng.choice(oddities.TEXTS)] = container[key]
    elif isinstance(container, list):
        container.append(container[key])
    else:
        container[rng.choice(("$patch", "$retainKeys", "$setElementOrder/containers", "kind"))] = rng.choice(
            ("delete", "replace", "merge", ["a"], None, 5)
        )


MUTATIONS: tuple[Mutation, ...] = (
    _method,
    _path,
    _namespace,
    _name,
    _name,
    _name,
    _query,
    _query,
    _header,
    _header,
    _other_body,
    _raw_body,
    _bytes,
    _value,
    _value,
    _value,
    _value,
)
