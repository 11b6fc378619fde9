"""The node's keys and certificates on disk, in the files and forms that a kubelet uses.

`keys` makes and reads them, `pairs` keeps a pair that is renewed, `selfsigned` makes one that nobody signs. A node
can go back and forth between kubelet and flexlet: each goes on with the other's files.

`keys` alone imports the cryptography library, and the others import `keys` only when they need it: a node that has
what it needs saves 8 MB and the time to load them.
"""
