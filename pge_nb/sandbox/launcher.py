"""Takes rights away from this process, then becomes the program that is to be run without them.

It runs alone (``python -I -S -c START ORDERS PROGRAM ...``), imports nothing of the package and little of Python, since every
import here is waited for each time. Its code and what it is to do come from the parent in one file (`pge_nb.sandbox.orders`). A
layer that cannot be put on ends it with ``FAILED``, before the program begins.
"""

from __future__ import annotations

# What ctypes and signal are built on: importing those would take longer than all that is done here.
import _signal  # type: ignore[import-not-found]
import os
import resource
import stat
import struct
import sys
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, Array, CFuncPtr, _SimpleCData, addressof, dlopen, get_errno

TYPE_CHECKING = False  # typing would cost as much as everything else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Orders = dict[str, Any]  # made by the parent and read by this file alone
    Call = Callable[..., int]

FAILED = 125
SIGNAL_WITH_PARENT, KEEP_CAPABILITIES, SECCOMP, ADOPT_ORPHANS, NO_NEW_PRIVILEGES, AMBIENT = 1, 8, 22, 36, 38, 47
SECURE_BITS, NO_SET_USER_FIXUP = 28, 4
INTERRUPT, KILL, TERMINATE, STOP = 2, 9, 15, 19
SET_CAPABILITIES = {"x86_64": 126, "aarch64": 91}
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
OF_A_FILE = 1 | 2 | 4 | 1 << 14 | 1 << 15
"""The rights that a file can have; the others are a directory's."""


def main(orders: Orders) -> None:
    """Carry out the orders, then become the program; where it is to be supervised, fork first and stay."""
    argv, report = sys.argv[2:], orders["report"]
    try:
        os.chdir(orders["cwd"])
        for which, most in orders["limits"]:
            hard = resource.getrlimit(which)[1]
            within = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (within, within))
        if orders["supervised"]:
            fork_and_stay(dies=orders["dies"])
        if orders["linux"]:
            confine(orders)
    except BaseException as error:
        os.write(2, f"the sandbox could not be set up: {error!r}\n".encode())
        if report is not None:
            os.write(report, f"{error!r}".encode())
        os._exit(FAILED)
    if report is not None:
        os.set_inheritable(report, False)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - there is no shell
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode(errors="surrogateescape"))
        os._exit(127)
    except OSError as error:
        os.write(2, f"this command cannot be started: {error.strerror}\n".encode())
        os._exit(126)


def fork_and_stay(*, dies: bool) -> None:
    """Return in a child that has a group of its own, which it cannot leave, and stay beside it.

    Whoever is orphaned below becomes a child of the one that stays. It ends the group with the program or when it is told to,
    waits until the last of them is gone, and ends as the program did.
    """
    prctl = checked("prctl")
    prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    if dies:
        prctl(SIGNAL_WITH_PARENT, TERMINATE, 0, 0, 0)
    child = 0

    def end(*_: object) -> None:
        if not child:
            os._exit(128 + TERMINATE)
        os.killpg(child, KILL)

    _signal.signal(TERMINATE, end)
    _signal.signal(INTERRUPT, lambda *_: os.killpg(child, INTERRUPT) if child else None)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        return
    try:  # noqa: SIM105 - contextlib would be waited for
        os.setpgid(child, child)  # Whichever of the two comes first.
    except OSError:
        pass
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:  # noqa: SIM105
        os.killpg(child, KILL)
    except OSError:
        pass  # Nobody else was left.
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    if code >= 0:
        os._exit(code)
    if -code not in {KILL, STOP}:
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


def confine(orders: Orders) -> None:
    """Another user, Landlock, seccomp, in this order: each of them takes away what the one before needs."""
    call, prctl = checked("syscall"), checked("prctl")
    # What may be read is opened first, while this process may still open it.
    made = [
        landlock(call, rules) if isinstance(rules, dict) else rules for rules in (orders["landlock"], orders["covered"])
    ]
    if orders["other_user"]:
        become(prctl, orders["other_user"])
    if orders["capabilities"]:
        keep_one(call, prctl, orders["capabilities"])
    if orders["dies"] or orders["supervised"]:
        # Anew, since another user's process has none.
        prctl(SIGNAL_WITH_PARENT, KILL, 0, 0, 0)
    prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for ruleset in made:
        if ruleset is not None:
            call(RESTRICT_SELF, ruleset, 0)
            os.close(ruleset)
    if orders["filter"]:
        steps = orders["filter"].replace(orders["own"], struct.pack("=I", os.getpid()))
        room = type("Steps", (Array,), {"_type_": Byte, "_length_": len(steps)})(*steps)
        prctl(SECCOMP, 2, struct.pack("@HP", len(steps) // 8, addressof(room)), 0, 0)


class Long(_SimpleCData):  # type: ignore[type-arg]
    """A C ``long``: an argument or what is returned."""

    _type_ = "l"


class Byte(_SimpleCData):  # type: ignore[type-arg]
    """A C ``unsigned char``."""

    _type_ = "B"


class Function(CFuncPtr):
    """A function of the C library."""

    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = Long


class Library:
    """The C library, as a function is looked up in it."""

    _handle = dlopen(None, 0)  # type: ignore[arg-type]


def checked(name: str) -> Call:
    """The function of that name, with an error where it returns one."""
    function = Function((name, Library))  # type: ignore[arg-type]

    def call(*args: int | bytes) -> int:
        got: int = function(*(Long(arg) if isinstance(arg, int) else arg for arg in args))
        if got < 0:
            number = get_errno()
            raise OSError(number, f"{os.strerror(number)} ({name} {args[0]!r})")
        return got

    return call


def landlock(call: Call, orders: Orders) -> int:
    """A ruleset with what the program may do; the kernel refuses the rest."""
    ruleset = call(CREATE_RULESET, orders["attributes"], len(orders["attributes"]), 0)
    for path, rights in orders["paths"]:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # It is not there, or this user may not look at it anyway.
        granted = rights if stat.S_ISDIR(os.fstat(place).st_mode) else rights & OF_A_FILE
        call(ADD_RULE, ruleset, 1, struct.pack("=Qi", granted, place), 0)
        os.close(place)
    for port, rights in orders["ports"]:
        call(ADD_RULE, ruleset, 2, struct.pack("=QQ", rights, port), 0)
    return ruleset


def become(prctl: Call, orders: Orders) -> None:
    """Give the directories to a user of their own, and become that one."""
    first, directories = orders["first"], orders["directories"]
    owner = os.lstat(directories[0]).st_uid
    # Whoever an earlier run gave this directory to, else one that nobody is; where few users exist, the last resort.
    for user in (owner if owner >= first else first + os.getpid(), orders["else"]):
        try:
            os.lchown(directories[0], user, user)
        except OSError:
            if user == orders["else"]:
                raise
            continue
        break
    for directory in directories:
        give(directory, user)
    prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    try:  # noqa: SIM105
        # Else access(2) would not know of the one that is kept, and shutil.which would find nothing.
        prctl(SECURE_BITS, NO_SET_USER_FIXUP, 0, 0, 0)
    except OSError:
        pass
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def give(directory: str, user: int) -> None:
    """Make the user the owner of a directory and of all that is in it."""
    for _, folders, names, place in os.fwalk(directory):
        os.fchown(place, user, user)
        for name in (*names, *folders):
            facts = os.lstat(name, dir_fd=place)
            # A file that has a second name may stand outside as well.
            if facts.st_uid != user and (facts.st_nlink == 1 or stat.S_ISDIR(facts.st_mode)):
                os.chown(name, user, user, dir_fd=place, follow_symlinks=False)


def keep_one(call: Call, prctl: Call, capabilities: tuple[int, ...]) -> None:
    """Of root's powers keep only that of passing through others' directories, as the first of these; Landlock bounds it."""
    number, head = SET_CAPABILITIES[os.uname().machine], struct.pack("=Ii", 0x20080522, 0)
    for capability in capabilities:
        bit = 1 << capability
        try:
            call(number, head, struct.pack("=6I", bit, bit, bit, 0, 0, 0))
            prctl(AMBIENT, 2, capability, 0, 0)
        except OSError:
            continue  # A container may have taken this one away.
        return
    call(number, head, bytes(24))
