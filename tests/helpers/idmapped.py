# SPDX-License-Identifier: GPL-2.0-or-later
"""idmapped.py FROM TO COMMAND...: the command with a directory at another place, where its files are other users'.

As container runtimes mount what they unpack: see mount_setattr(2)."""

import ctypes
import os
import signal
import sys

# The same on each architecture.
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
AT_FDCWD, AT_EMPTY_PATH, OPEN_TREE_CLONE, MOVE_FROM_EMPTY_PATH = -100, 0x1000, 1, 4
MOUNT_ATTR_IDMAP = 0x100000
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
SHIFTED = "0 100000 65536\n"

libc = ctypes.CDLL(None, use_errno=True)


class MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def open_shifted_users():
    """A user namespace whose users are others here."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        check(libc.unshare(CLONE_NEWUSER), "unshare")
        os.write(tell, b".")
        signal.pause()
    os.close(tell)
    assert os.read(ready, 1) == b".", "there is no user namespace"
    for of in ("uid_map", "gid_map"):
        with open(f"/proc/{child}/{of}", "w", encoding="ascii") as file:
            file.write(SHIFTED)
    users = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return users


def main():
    source, place, *command = sys.argv[1:]
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    tree = check(libc.syscall(OPEN_TREE, AT_FDCWD, source.encode(), OPEN_TREE_CLONE), "open_tree")
    attributes = MountAttributes(set=MOUNT_ATTR_IDMAP, userns=open_shifted_users())
    check(libc.syscall(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, ctypes.byref(attributes),
                       ctypes.c_size_t(ctypes.sizeof(attributes))), "mount_setattr")
    check(libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, place.encode(), MOVE_FROM_EMPTY_PATH), "move_mount")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
