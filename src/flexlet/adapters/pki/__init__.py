"""The node's keys and certificates on disk, in the files and forms that a kubelet uses.

`keys` makes and reads them, `pairs` keeps a pair that is renewed, `selfsigned` makes one that nobody signs. A node
can go back and forth between kubelet and flexlet: each goes on with the other's files.
"""
