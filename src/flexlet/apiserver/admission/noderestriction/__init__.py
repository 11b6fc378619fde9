"""NodeRestriction: a node's credentials are good for that node and its pods only.

Whoever takes over one machine must not steer pods to it, read secrets of others or speak for other nodes. The
authorizer says which kinds a node may write at all; here is which objects. `plugin` sorts requests by resource,
the other modules hold the rules of one resource each.
"""
