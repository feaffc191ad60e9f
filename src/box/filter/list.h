/*
 * list.h - which system calls a kernel may make.
 *
 * Drawn from what Python, Node and R use over a broad workload, and their siblings
 * (docs/internals/filter.md). Names that an architecture lacks are passed over.
 */
#pragma once

static const char *const filter_allowed[] = {
	"accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk", "capget", "chdir",
	"chmod", "chown", "clock_getres", "clock_gettime", "clock_nanosleep", "close",
	"close_range", "connect", "copy_file_range", "creat", "dup", "dup2", "dup3",
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
	"eventfd", "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat",
	"faccessat2", "fallocate", "fchdir", "fchmod", "fchmodat", "fchown",
	"fchownat", "fdatasync", "fgetxattr", "flistxattr", "flock", "fork", "fsetxattr",
	"fremovexattr", "fstat", "fstatfs", "fsync", "ftruncate", "futex_waitv", "futimesat",
	"get_robust_list", "getcpu", "getcwd", "getdents", "getdents64", "getegid", "geteuid",
	"getgid", "getgroups", "getitimer", "getpeername", "getpgid", "getpgrp", "getpid",
	"getppid", "getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage",
	"getsid", "getsockname", "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr",
	"kill", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
	"lchown", "lgetxattr", "link", "linkat", "listen", "listxattr", "llistxattr", "lseek",
	"lstat", "lremovexattr", "lsetxattr", "membarrier", "memfd_create", "mincore", "mkdir",
	"mkdirat", "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap",
	"msync", "munlock", "munlockall", "munmap", "nanosleep", "newfstatat", "open", "openat",
	"openat2", "pause", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc",
	"pkey_free", "pkey_mprotect", "poll", "ppoll", "pread64", "preadv", "prlimit64",
	"pselect6", "pwrite64", "pwritev", "read", "readahead", "readlink",
	"readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "restart_syscall",
	"rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
	"sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
	"sched_yield", "seccomp", "select", "sendfile", "set_robust_list", "set_tid_address",
	"setfsgid", "setfsuid", "setgid", "setgroups", "setitimer", "setpgid", "setpriority",
	"setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid",
	"setuid", "setxattr", "shutdown", "sigaltstack", "signalfd", "signalfd4", "stat", "statfs",
	"statx", "symlink", "symlinkat", "sync_file_range", "sysinfo", "tgkill", "time",
	"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
	"timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate",
	"umask", "uname", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork", "wait4",
	"waitid", "write", "writev",
};

/* Known to be dangerous, or to reach the host: EPERM, counted and reported by name. */
static const char *const filter_denied[] = {
	"acct", "add_key", "adjtimex", "bpf", "capset", "chroot", "clock_adjtime",
	"clock_settime", "delete_module", "fanotify_init", "fanotify_mark", "finit_module",
	"fsconfig", "fsmount", "fsopen", "fspick", "init_module", "inotify_add_watch",
	"inotify_init", "inotify_init1", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents",
	"io_setup", "io_submit", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm",
	"iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie",
	"memfd_secret", "migrate_pages", "modify_ldt", "mount", "mount_setattr", "move_mount",
	"move_pages", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend",
	"mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "name_to_handle_at", "nfsservctl",
	"open_by_handle_at", "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root",
	"process_madvise", "process_mrelease", "process_vm_readv", "process_vm_writev", "ptrace",
	"quotactl", "quotactl_fd", "reboot", "request_key", "sched_setattr", "sched_setparam",
	"sched_setscheduler", "semctl", "semget", "semop", "semtimedop",
	"setdomainname", "sethostname", "setns", "settimeofday", "shmat", "shmctl", "shmdt",
	"shmget", "swapoff", "swapon", "sync", "syncfs", "sysfs", "syslog", "umount2", "unshare",
	"userfaultfd", "ustat", "vhangup",
};
