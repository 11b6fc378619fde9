"""Whether KVM really works here.

``/dev/kvm`` may exist and be of no use: where virtualization is nested half-heartedly, guests hang in their
first instructions, or get through them slower than by emulation. So a boot sector of four instructions is
started; it ends QEMU through the debug-exit port. KVM has to do that about as quickly as emulation does on this
host right now, or guests are emulated. The answer is kept for this boot of the host and this QEMU.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from flexlet.adapters.qemu.binary import Qemu
from flexlet.core.lab.arguments import Accelerator

EMULATED_S: Final = 20.0
KVM: Final = Path("/dev/kvm")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_CODE: Final = b"\xb0\x10\xe6\xf4\xf4\xeb\xfd"  # mov al, 0x10; out 0xf4, al; hlt; jmp back to hlt
_EXIT: Final = 0x10 << 1 | 1  # what isa-debug-exit makes of it
SECTOR: Final = _CODE.ljust(510, b"\0") + b"\x55\xaa"


async def choose(qemu: Qemu, cache: Path) -> Accelerator:
    """KVM if it works, else TCG."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    key = f"{_BOOT_ID.read_text().strip()} {qemu.version}"
    works = _remembered(cache / "kvm", key)
    if works is None:
        works = await _is_quick(qemu)
        _remember(cache / "kvm", key, works)
    return "kvm" if works else "tcg"


async def _is_quick(qemu: Qemu) -> bool:
    begin = time.monotonic()
    await boots(qemu, "tcg", EMULATED_S)
    return await boots(qemu, "kvm", 1 + 2 * (time.monotonic() - begin))


async def boots(qemu: Qemu, accelerator: Accelerator, patience_s: float) -> bool:
    """Whether a guest gets through the BIOS and its boot sector within that time."""
    with tempfile.NamedTemporaryFile(prefix="flexlet-probe-") as disk:
        disk.write(SECTOR)
        disk.flush()
        words = f"-machine pc -accel {accelerator} -m 16 -nodefaults -display none -no-reboot"
        process = await asyncio.create_subprocess_exec(
            qemu.system,
            *words.split(),
            *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
            *("-drive", f"file={disk.name},format=raw,if=ide,snapshot=on"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(patience_s):
                return await process.wait() == _EXIT
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _remembered(path: Path, key: str) -> bool | None:
    """The answer found earlier, if it was found under the same circumstances."""
    try:
        known, answer, *_ = path.read_text().split("\n")
    except (OSError, ValueError):
        return None
    return answer == "works" if known == key else None


def _remember(path: Path, key: str, works: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{key}\n{'works' if works else 'hangs'}\n")
