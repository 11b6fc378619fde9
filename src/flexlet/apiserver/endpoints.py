"""Who serves the paths that are no stored object: reviews, tokens, binding, eviction, scale."""

import msgspec

from flexlet.apiserver.auth.reviews import Reviews
from flexlet.apiserver.auth.tokens import TokenRequests
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.rest.backend import Backend, admission_request
from flexlet.apiserver.rest.binding import Bindings
from flexlet.apiserver.rest.call import Answer, metadata_of
from flexlet.apiserver.rest.eviction import Evictions
from flexlet.apiserver.rest.handlers import Handled, Handler
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.apiserver.rest.scale import Scales


def register(rest: Rest, reviews: Reviews, tokens: TokenRequests) -> None:
    """Give every such path of the served kinds its handler."""
    backend = rest.backend
    bindings, scales = Bindings(backend), Scales(backend)
    rest.handlers |= {
        ("", "pods", "binding"): bindings.handle,
        ("", "bindings", ""): bindings.handle,
        ("", "pods", "eviction"): Evictions(backend).handle,
        ("", "serviceaccounts", "token"): _token_handler(backend, tokens),
        ("apps", "deployments", "scale"): scales.handle,
        ("apps", "replicasets", "scale"): scales.handle,
    }
    for kind in rest.registry.kinds():
        if not kind.stored and kind.plural != "bindings":
            rest.handlers[kind.group, kind.plural, ""] = _review_handler(reviews)


def _review_handler(reviews: Reviews) -> Handler:
    async def handle(request: Handled) -> Answer:
        body, call = request.body or {}, request.call
        if call.namespace:
            metadata_of(body).setdefault("namespace", call.namespace)
        return _created(await reviews.create(call.kind.kind, body, call.user))

    return handle


def _token_handler(backend: Backend, tokens: TokenRequests) -> Handler:
    async def handle(request: Handled) -> Answer:
        call, body = request.call, request.body or {}
        admission = admission_request(call, "CREATE", body)
        backend.mutate(admission)

        async def admit(obj: Object) -> None:
            admission.obj = obj
            await backend.validate(admission)

        return _created(await tokens.create(call.namespace, call.name, body, backend.clock(), admit))

    return handle


def _created(obj: Object) -> Answer:
    return Answer(msgspec.json.encode(obj), 201)
