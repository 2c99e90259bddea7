"""The seccomp filter: which system calls a confined program may not make, as a BPF program for the kernel.

Landlock covers files, TCP ports and, from its version 6 on, signals. It does not cover sockets of other kinds, permissions and
times of files, namespaces, nor what one process can do to another: those are here.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Mapping

OWN = 0x7FEDCBA9
"""Stands for the process id of the program, which the launcher alone knows."""

MACHINES: Mapping[str, tuple[int, int]] = {
    "x86_64": (0, 0xC000003E),
    "aarch64": (1, 0xC00000B7),
    "arm64": (1, 0xC00000B7),
}
"""Machine -> its column in `CALLS`, and what the kernel calls it. All of them are little-endian."""

NEWEST = 469
"""The last system call that is judged here; a later one is answered as by a kernel that does not have it."""

CALLS: Mapping[str, tuple[int | None, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "lchown": (94, None),
    "listen": (50, 201),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpgid": (109, 154),
    "setpriority": (141, 140),
    "setsid": (112, 157),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vhangup": (153, 58),
}
"""System call -> its number on x86-64 and on 64-bit Arm; None where the machine has no such call."""

EPERM, EACCES, ENOSYS, EOPNOTSUPP = 1, 13, 38, 95
PRETENDED = 0
"""The call does nothing and returns success: what a copy of a file asks for must not fail, and must not reach outside."""

REFUSED: Mapping[int, str] = {
    # Leaving the process group would be outliving the run, which ends with a signal to that group.
    EPERM: """
        setsid setpgid unshare setns chroot mount umount2 pivot_root fsopen fsconfig fsmount fspick open_tree open_tree_attr
        move_mount mount_setattr ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd pidfd_send_signal process_madvise
        process_mrelease migrate_pages move_pages add_key keyctl request_key bpf perf_event_open lookup_dcookie
        open_by_handle_at name_to_handle_at fanotify_init fanotify_mark shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl
        semget semop semtimedop semctl mq_open mq_unlink init_module finit_module delete_module kexec_load kexec_file_load
        reboot sethostname setdomainname settimeofday adjtimex clock_settime clock_adjtime acct quotactl quotactl_fd swapon
        swapoff syslog iopl ioperm vhangup ioprio_set file_setattr
    """,
    # Programs ask whether the kernel has these and do without: asyncio without pidfd_open, the C library without clone3,
    # whose flags no filter can read. Memory files count in no limit on memory or disk.
    ENOSYS: "clone3 openat2 io_uring_setup io_uring_enter io_uring_register userfaultfd pidfd_open memfd_create memfd_secret",
    EOPNOTSUPP: "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat",
    # Landlock does not cover them, and a path is no argument that a filter can read.
    PRETENDED: "chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes utimensat futimesat",
}
NAMESPACES = 0x7E020000 | 0x80
CLONE_PARENT = 0x8000
STREAM, SEQPACKET = 1, 5
KINDS_OF_SOCKET = 0xF
UNIX, INET, INET6 = 1, 2, 10
TCP = 6
FASTOPEN = 0x20000000
"""Sending with it connects, past the hook at which Landlock looks at the port."""
READ_BUT_TRUNCATE, ACCESS_AND_TRUNCATE = 0x200, 0x203
SIGNALS_SET_UP = (8, 15, 10)  # F_SETOWN, F_SETOWN_EX, F_SETSIG
OWNER_SET_UP = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP
PR_SET_DUMPABLE = 4
NETWORK = "bind listen accept accept4 connect"

LOAD, AND, EQUAL, ANY_BIT, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x45, 0x35, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
ARGUMENTS = 16
Step = tuple[int, int, int, int]
"""One instruction: code, jump if true, jump if false, constant."""


def supported(machine: str) -> bool:
    """Whether the numbers of this machine's system calls are known here."""
    return machine in MACHINES


@functools.cache
def program(machine: str, *, landlock: int, ports: bool = False) -> bytes:
    """The filter for a machine beside Landlock of that version; ``ports`` lets stream sockets be made."""
    column, audit = MACHINES[machine]
    steps: list[Step] = [
        *[(LOAD, 0, 0, 4), (EQUAL, 1, 0, audit), _refuse(EPERM)],  # another instruction set has other numbers
        *[(LOAD, 0, 0, 0), (AT_LEAST, 0, 1, NEWEST + 1), _refuse(ENOSYS)],
    ]
    for name, body in _rules(landlock, ports=ports):
        number = CALLS[name][column]
        if number is not None:
            steps += [(EQUAL, 0, len(body), number), *body]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _rules(landlock: int, *, ports: bool) -> Iterator[tuple[str, list[Step]]]:
    """Each call that is looked at, with what is done; a body ends in a return always."""
    for error, names in REFUSED.items():
        yield from ((name, [_refuse(error)]) for name in names.split())
    yield "clone", _allowed_if(_none_of(0, NAMESPACES | CLONE_PARENT, EPERM))
    # Only a stream: a datagram socket can send to whatever address it is told.
    yield "socketpair", _allowed_if(_one_of(0, (UNIX,), EACCES), _kind_of((STREAM, SEQPACKET)))
    yield "prctl", _allowed_if(_not_equal(0, (PR_SET_DUMPABLE,), EPERM))
    yield "fcntl", _allowed_if(_not_equal(1, SIGNALS_SET_UP, EPERM))
    yield "ioctl", _allowed_if(_not_equal(1, OWNER_SET_UP, EPERM))
    yield "setpriority", _allowed_if(_one_of(0, (0,), EPERM), _one_of(1, (0,), EPERM))
    yield "prlimit64", _allowed_if(_one_of(0, (0, OWN), EPERM))
    # A thread is named by a number that no filter can know, and ZeroMQ gives up where it is refused.
    for name in ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"):
        yield name, _allowed_if(_one_of(0, (0, OWN), PRETENDED))
    yield from _network(ports=ports)
    if landlock < 6:
        yield from _signals()
    if landlock < 3:
        yield "truncate", [_refuse(EPERM)]
        yield "open", _allowed_if(_not_masked(1, ACCESS_AND_TRUNCATE, READ_BUT_TRUNCATE, EACCES))
        yield "openat", _allowed_if(_not_masked(2, ACCESS_AND_TRUNCATE, READ_BUT_TRUNCATE, EACCES))


def _network(*, ports: bool) -> Iterator[tuple[str, list[Step]]]:
    if not ports:
        yield from ((name, [_refuse(EACCES)]) for name in ("socket", *NETWORK.split()))
        return
    # Landlock looks at TCP alone: neither UDP nor MPTCP. ZeroMQ does without a list of interfaces only for this error.
    tcp = (_one_of(0, (INET, INET6), EOPNOTSUPP), _kind_of((STREAM,)), _one_of(2, (0, TCP), EACCES))
    yield "socket", _allowed_if(*tcp)
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield name, _allowed_if(_none_of(flags, FASTOPEN, EACCES))


def _signals() -> Iterator[tuple[str, list[Step]]]:
    """Where Landlock does not keep signals in: only to the program itself and to its group, not even to its children."""
    yield "kill", _allowed_if(_one_of(0, (0, OWN), EPERM))
    for name in ("tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        yield name, _allowed_if(_one_of(0, (OWN,), EPERM))


def _refuse(error: int) -> Step:
    return (RETURN, 0, 0, ERROR | error)


def _allowed_if(*tests: list[Step]) -> list[Step]:
    return [*(step for test in tests for step in test), (RETURN, 0, 0, ALLOW)]


def _argument(number: int) -> Step:
    return (LOAD, 0, 0, ARGUMENTS + 8 * number)


def _one_of(number: int, values: tuple[int, ...], error: int) -> list[Step]:
    return [_argument(number), *_among(values, error)]


def _kind_of(kinds: tuple[int, ...]) -> list[Step]:
    return [_argument(1), (AND, 0, 0, KINDS_OF_SOCKET), *_among(kinds, EACCES)]


def _among(values: tuple[int, ...], error: int) -> list[Step]:
    """Fall through where what was loaded is one of the values; the refusal stands behind the last of them."""
    last = len(values)
    return [*((EQUAL, last - index, 0, value) for index, value in enumerate(values)), _refuse(error)]


def _not_equal(number: int, values: tuple[int, ...], error: int) -> list[Step]:
    return [_argument(number), *(step for value in values for step in ((EQUAL, 0, 1, value), _refuse(error)))]


def _none_of(number: int, bits: int, error: int) -> list[Step]:
    return [_argument(number), (ANY_BIT, 0, 1, bits), _refuse(error)]


def _not_masked(number: int, mask: int, value: int, error: int) -> list[Step]:
    return [_argument(number), (AND, 0, 0, mask), (EQUAL, 0, 1, value), _refuse(error)]
