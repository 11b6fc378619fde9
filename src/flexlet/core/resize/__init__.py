"""In-place resize on the node's side: what is allocated, whether a new size is granted, who is asked first.

Desired, allocated and actuated are kept apart: `allocation` holds the values a node has granted, `admit` compares
a wish with what is free, `queue` orders those who wait. Follows pod-level and container-level resize of Kubernetes
1.36; where flexlet decides differently the function says so.
"""
