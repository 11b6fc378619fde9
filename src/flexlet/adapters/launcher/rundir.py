"""The directory of a launcher: every socket and file that only a running machine needs."""

from pathlib import Path

import msgspec

from flexlet.core.vm import names


class RunDir(msgspec.Struct, frozen=True):
    """Where everything is; in a pod an emptyDir."""

    path: Path = Path(names.RUN_DIR)

    @property
    def control(self) -> Path:
        """Where orders go in and reports come out."""
        return self.path / Path(names.CONTROL_SOCKET).name

    @property
    def console(self) -> Path:
        """The serial console for people."""
        return self.path / Path(names.CONSOLE_SOCKET).name

    @property
    def monitors(self) -> tuple[Path, Path]:
        """QEMU's monitors: the launcher's own, and one to look what is wrong."""
        return self.path / Path(names.QMP_SOCKET).name, self.path / Path(names.DEBUG_SOCKET).name

    @property
    def agent(self) -> Path:
        """The channel of the guest's agent."""
        return self.path / "agent.sock"

    @property
    def serial(self) -> Path:
        """The serial console as QEMU has it, for the launcher alone."""
        return self.path / "serial.sock"

    @property
    def pidfile(self) -> Path:
        """Written by QEMU; its path on a command line is how a QEMU is found again."""
        return self.path / "qemu.pid"

    @property
    def starts(self) -> Path:
        """The count of vCPUs that were started, where QEMU emulates."""
        return self.path / "cpu-starts"

    @property
    def log(self) -> Path:
        """What QEMU itself says."""
        return self.path / "qemu.log"
