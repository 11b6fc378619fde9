"""The directories of pods on a real file system: `PodDirectories` obeys `flexlet.ports.podfiles.PodFiles`.

`directories` is the adapter, `volumes` lays volumes out, `atomic` replaces sets of files, `hostpath` checks
paths of the host, `subpaths` finds paths inside volumes without following links out of them, `mounting` asks the
kernel. Everything here blocks and is called in threads.
"""

from flexlet.adapters.podfiles.directories import PodDirectories

__all__ = ["PodDirectories"]
