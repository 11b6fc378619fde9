"""Authentication and authorization of one server put together over its stored objects."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from flexlet.apiserver.auth.accounttokens import AccountTokens
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import Authorizer, new_authorizer
from flexlet.apiserver.auth.bootstrap import node_rules
from flexlet.apiserver.auth.bootstraptokens import BootstrapTokens
from flexlet.apiserver.auth.jwt import KeyRing, Signer
from flexlet.apiserver.auth.pki import Pki
from flexlet.apiserver.auth.podgraph import PodGraph
from flexlet.apiserver.auth.rbac import BUCKETS
from flexlet.apiserver.auth.reviews import Reviews
from flexlet.apiserver.auth.tokens import TokenRequests, openid_configuration
from flexlet.apiserver.auth.versions import Versions
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.store.store import Store

ISSUER: Final = "https://kubernetes.default.svc"
JWKS: Final = "/openid/v1/jwks"
AUDIENCES: Final = (ISSUER,)
PODS: Final = "pods"


class Identities(NamedTuple):
    """Everything that knows who may do what."""

    authenticator: Authenticator
    authorizer: Authorizer
    reviews: Reviews
    tokens: TokenRequests
    keys: KeyRing

    def openid(self) -> dict[str, Any]:
        """What outside verifiers of service account tokens ask for, by path."""
        algorithms = self.keys.algorithms()
        return {
            "/.well-known/openid-configuration": openid_configuration(ISSUER, f"{ISSUER}{JWKS}", algorithms),
            JWKS: self.keys.jwks(),
        }


def assemble(store: Store, view: View, pki: Pki, now: Callable[[], float]) -> Identities:
    """Build the parts; they follow the store by themselves."""
    keys = KeyRing([pki.token_key.public_key()])
    checkers = (AccountTokens(ISSUER, keys, view), BootstrapTokens(view, AUDIENCES))
    authenticator = Authenticator(pki.authority.certificate, checkers, AUDIENCES, now)
    authorizer = new_authorizer(view, Versions(store.subscribe, BUCKETS), _pods(store), node_rules())
    return Identities(
        authenticator,
        authorizer,
        Reviews(authenticator, authorizer, now),
        TokenRequests(view, Signer(pki.token_key), ISSUER, AUDIENCES),
        keys,
    )


def _pods(store: Store) -> PodGraph:
    graph = PodGraph()
    for row in store.list(PODS):
        graph.observe("ADDED", row.key, row.value)
    store.subscribe(PODS, lambda event: graph.observe(event.type, event.row.key, event.row.value))
    return graph
