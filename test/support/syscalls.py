"""Numbers of system calls, for attacks that call them directly; removed calls have none."""
import ctypes
import fcntl
import os
import platform
import struct

X86_64 = {
    "io_setup": 206, "io_submit": 209, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298,
    "keyctl": 250, "add_key": 248, "request_key": 249, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167,
    "swapoff": 168, "acct": 163, "quotactl": 179, "syslog": 103, "iopl": 172, "ioperm": 173,
    "modify_ldt": 154, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "fanotify_init": 300, "fanotify_mark": 301,
    "inotify_init1": 294, "inotify_add_watch": 254, "lookup_dcookie": 212, "splice": 275,
    "tee": 276, "vmsplice": 278, "memfd_secret": 447, "shmget": 29, "shmat": 30, "semget": 64,
    "msgget": 68, "mq_open": 240, "move_pages": 279, "migrate_pages": 256, "mbind": 237,
    "personality": 135, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
    "pidfd_getfd": 438, "pidfd_open": 434, "kcmp": 312, "process_madvise": 440,
    "process_mrelease": 448, "unshare": 272, "setns": 308, "clone": 56, "clone3": 435, "vfork": 58,
    "setuid": 105, "setgid": 106, "setresuid": 117, "setresgid": 119, "setgroups": 116,
    "capset": 126, "clock_settime": 227, "settimeofday": 164, "adjtimex": 159,
    "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "open_by_handle_at": 304,
    "name_to_handle_at": 303, "mknod": 133, "prctl": 157, "seccomp": 317, "ioctl": 16, "kill": 62,
    "tgkill": 234, "tkill": 200, "pidfd_send_signal": 424, "rt_sigqueueinfo": 129, "socket": 41,
    "futex": 202, "madvise": 28, "mlockall": 151, "fcntl": 72, "setfsuid": 122, "gettid": 186,
    "getpid": 39, "mmap": 9, "munmap": 11, "setrlimit": 160, "prlimit64": 302, "sysfs": 139,
    "ustat": 136, "vhangup": 153, "sched_setattr": 314, "sched_setscheduler": 144,
    "nfsservctl": 180, "remap_file_pages": 216, "uselib": 134, "create_module": 174,
    "renameat2": 316, "linkat": 265, "fsetxattr": 190, "setxattr": 188, "lsm_set_self_attr": 460,
    "cachestat": 451, "statmount": 457, "listmount": 458, "rseq": 334, "get_robust_list": 274,
}

# Linux's generic table, which arm64 uses; it lacks some calls of x86-64.
ARM64 = {
    "io_setup": 0, "io_submit": 2, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "bpf": 280, "userfaultfd": 282, "perf_event_open": 241,
    "keyctl": 219, "add_key": 217, "request_key": 218, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294, "reboot": 142, "swapon": 224,
    "swapoff": 225, "acct": 89, "quotactl": 60, "syslog": 116, "mount": 40, "umount2": 39,
    "pivot_root": 41, "chroot": 51, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "fanotify_init": 262,
    "fanotify_mark": 263, "inotify_init1": 26, "inotify_add_watch": 27, "lookup_dcookie": 18,
    "splice": 76, "tee": 77, "vmsplice": 75, "memfd_secret": 447, "shmget": 194, "shmat": 196,
    "semget": 190, "msgget": 186, "mq_open": 180, "move_pages": 239, "migrate_pages": 238,
    "mbind": 235, "personality": 92, "ptrace": 117, "process_vm_readv": 270,
    "process_vm_writev": 271, "pidfd_getfd": 438, "pidfd_open": 434, "kcmp": 272,
    "process_madvise": 440, "process_mrelease": 448, "unshare": 97, "setns": 268, "clone": 220,
    "clone3": 435, "setuid": 146, "setgid": 144, "setresuid": 147, "setresgid": 149,
    "setgroups": 159, "capset": 91, "clock_settime": 112, "settimeofday": 170, "adjtimex": 171,
    "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "prctl": 167, "seccomp": 277,
    "ioctl": 29, "kill": 129, "tgkill": 131, "tkill": 130, "pidfd_send_signal": 424,
    "rt_sigqueueinfo": 138, "socket": 198, "futex": 98, "madvise": 233, "mlockall": 230,
    "fcntl": 25, "setfsuid": 151, "gettid": 178, "getpid": 172, "mmap": 222, "munmap": 215,
    "setrlimit": 164, "prlimit64": 261, "vhangup": 58, "sched_setattr": 274,
    "sched_setscheduler": 119, "nfsservctl": 42, "remap_file_pages": 234, "renameat2": 276,
    "linkat": 37, "fsetxattr": 7, "setxattr": 5, "rseq": 293, "get_robust_list": 100,
}

NUMBERS = ARM64 if platform.machine() == "aarch64" else X86_64

# <linux/userfaultfd.h>
UFFDIO_API = 0xC018AA3F
UFFD_API = 0xAA
UFFD_FEATURE_WP_ASYNC = 1 << 15


def can_watch_every_map():
    """Linux 6.7 and later, unless it was built without, or a container or a sysctl refuses
    userfaultfd to this user."""
    fd = ctypes.CDLL(None, use_errno=True).syscall(NUMBERS["userfaultfd"], os.O_CLOEXEC | 1)
    if fd < 0:
        return False
    try:
        fcntl.ioctl(fd, UFFDIO_API, struct.pack("=QQQ", UFFD_API, UFFD_FEATURE_WP_ASYNC, 0))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
