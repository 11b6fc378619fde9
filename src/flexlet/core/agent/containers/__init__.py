"""How a pod's sandbox, containers, environment and volumes are made, as values.

Pure translations of a pod (as allocated) and its node into what the runtime and the file system are given. What
must be fetched first (ConfigMaps, Secrets, tokens) is named by `references` functions and handed in.
"""
