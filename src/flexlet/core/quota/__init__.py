"""ResourceQuota as arithmetic: what an object asks for, which quotas it concerns, whether it fits.

`names` says which kind of object counts towards a limit; `claim` what one object asks for; `scopes` which quotas
look at it; `charge` adds it to the usage or refuses; `measure` counts a namespace from scratch. Follows
``pkg/quota`` and the ResourceQuota plugin of Kubernetes 1.36.3.
"""
