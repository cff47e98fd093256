"""Who may write: one process at a time, on a disk of this machine."""

import fcntl
import os
from pathlib import Path

from deepbinaries.errors import Error, IndexBusyError

FILE = "lock"

# Kinds of file systems on which several machines see one folder: locks and mapped files keep no promise there.
_NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.rclone", "davfs")


class WriterLock:
    """The right to write to an index; the system takes it back when the process ends, however it ends."""

    def __init__(self, folder: Path):
        self._descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            self.release()
            raise IndexBusyError(
                f"the index {folder} is being written to by process {holder}",
                next_step="wait until it is done; reading is possible meanwhile",
            ) from None
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        os.close(self._descriptor)


def refuse_network_disk(folder: Path) -> None:
    """Raise where a folder lies on a disk of another machine."""
    kind = _kind_of_disk(folder.resolve())
    if kind.startswith(_NETWORK):
        raise Error(
            f"{folder} lies on a network disk ({kind}), where an index may lose items",
            next_step="keep it on a disk of this machine, or give allow_network_disk=True and use one machine only",
        )


def _kind_of_disk(folder: Path) -> str:
    """The type of the file system that a folder is on; nothing where the system does not tell."""
    table = Path("/proc/self/mountinfo")
    if not table.exists():
        return ""
    kinds = {}
    for line in table.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        of_mount, _, of_disk = line.partition(" - ")
        kinds[Path(of_mount.split()[4].replace("\\040", " "))] = of_disk.split()[0]
    return next((kinds[place] for place in (folder, *folder.parents) if place in kinds), "")
