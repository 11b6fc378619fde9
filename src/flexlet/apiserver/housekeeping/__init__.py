"""Small loops that make the API usable: what other parts of Kubernetes do around an API server.

Each works on a `ports.cluster.Cluster`, so it runs inside the server or against a real one.
"""
