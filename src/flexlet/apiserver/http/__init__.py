"""The API over HTTPS: paths, identities, representations, discovery, watch streams, errors.

Everything a request means is in `flexlet.apiserver.rest`; here is only how it is said on the wire. One function
takes every request (`front.Front`); there is no router, because a Kubernetes path is read in one pass.
"""
