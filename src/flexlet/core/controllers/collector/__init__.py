"""The collector of objects whose owners are gone.

Owners and owned may be of any kind, so it follows them all. An object is deleted when every owner it names is
known to be absent: seen to vanish, or looked up and not found. An owner being deleted in the foreground waits for
those of its dependents that block it; one that orphans waits until no dependent names it. Follows
``pkg/controller/garbagecollector``.
"""
