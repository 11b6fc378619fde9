"""A client for any Kubernetes API over HTTPS: the Cluster port on aiohttp.

`kubeconfig` reads who we are and where to go, `requests` builds paths and reads watch lines without IO, `client`
sends them. No discovery, no models: callers name the resource and decode the fields they need.
"""
