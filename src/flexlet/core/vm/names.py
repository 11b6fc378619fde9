"""Every name by which virtual machines are known to others."""

from typing import Final

from flexlet.core.actions import Ref

GROUP: Final = "vm.flexlet.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "FlexVM"
MIGRATION_KIND: Final = "FlexVMMigration"
FLEX_VMS: Final[Ref] = (GROUP, VERSION, "flexvms")
MIGRATIONS: Final[Ref] = (GROUP, VERSION, "flexvmmigrations")

LABEL: Final = "vm.flexlet.io/name"
"""On a launcher pod: the FlexVM it belongs to."""
CREATED_BY: Final = "vm.flexlet.io/created-by"
"""On a launcher pod: the uid of the FlexVM."""
MIGRATION_LABEL: Final = "vm.flexlet.io/migration"
"""On a launcher pod that is the target of a migration: the uid of the FlexVMMigration."""
OVERHEAD: Final = "vm.flexlet.io/memory-overhead-bytes"
"""On a launcher pod: what it needs beside the guest's memory, as of the last resize."""
MACHINE: Final = "vm.flexlet.io/machine"
"""On a launcher pod: JSON of the machine it starts (`guest.Machine`), which never changes."""
REQUESTED: Final = "vm.flexlet.io/requested-at"
"""On a FlexVM: any new value tries again what has failed."""
POWER: Final = "vm.flexlet.io/power"
"""On a FlexVM: ``Start@<when>``, ``Stop@<when>`` or ``Restart@<when>``; a value is obeyed once.

Start and Stop are for the strategies Manual and RerunOnFailure (Always and Halted say it), Restart for any.
"""
FINALIZER: Final = "vm.flexlet.io/launcher"

CONTAINER: Final = "compute"
COMPONENT: Final = "flexvm-controller"
LEASE: Final = "flexlet-flexvm-controller"

RUN_DIR: Final = "/run/flexlet-vm"
"""In a launcher pod (an emptyDir): QMP and control sockets."""
CONTROL_SOCKET: Final = f"{RUN_DIR}/control.sock"
QMP_SOCKET: Final = f"{RUN_DIR}/qmp.sock"
DEBUG_SOCKET: Final = f"{RUN_DIR}/qmp-debug.sock"
CONSOLE_SOCKET: Final = f"{RUN_DIR}/console.sock"
DISK_DIR: Final = "/var/lib/flexlet-vm/disks"
"""In a launcher pod: one directory for each volume."""
KERNEL_DIR: Final = "/var/lib/flexlet-vm/kernel"
"""In a launcher pod: what a kernelBoot starts."""
