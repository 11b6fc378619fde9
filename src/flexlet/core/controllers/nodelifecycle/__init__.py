"""Nodes that fall silent, and what becomes of their pods.

A node is alive while it renews its lease or posts its status. One that does neither is marked Unknown, tainted,
and its pods are evicted when their tolerations run out. Follows ``pkg/controller/nodelifecycle`` and
``tainteviction``; simpler is that all nodes count as one zone.
"""
