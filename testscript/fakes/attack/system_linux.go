package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// systemAttempts: what takes a privilege, gives one, or reaches the kernel's own controls. Each is a program
// start of its own, since some would change this process.
func systemAttempts(args []string) ([]attempt, error) {
	if len(args) != 1 {
		return nil, errors.New("wants a folder")
	}
	var all []attempt
	for _, a := range append(privileges(args[0]), kernel(args[0])...) {
		all = append(all, attempt{a.name, func() error { return apart(args[0], a.name) }})
	}
	return all, nil
}

// apart runs one attempt of the group in another process, which ends with its errno.
func apart(dir, name string) error {
	cmd := exec.Command("/proc/self/exe", "one", dir, name)
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return syscall.Errno(ended.ExitCode())
	case errors.As(err, &ended):
		return errors.New(ended.String())
	}
	return err
}

func oneAttempt(args []string) ([]attempt, error) {
	for _, a := range append(privileges(args[0]), kernel(args[0])...) {
		if a.name != args[1] {
			continue
		}
		err := a.run()
		var errno syscall.Errno
		if errors.As(err, &errno) {
			os.Exit(int(errno))
		} else if err != nil {
			os.Exit(250)
		}
		os.Exit(0)
	}
	return nil, errors.New("no such attempt")
}

// privileges: to become somebody else, to hold a capability, to get into a namespace where one is held.
func privileges(dir string) []attempt {
	return []attempt{
		{"setuid", func() error { return call(unix.SYS_SETUID, 12345) }},
		{"setgroups", func() error { return call(unix.SYS_SETGROUPS, 0, 0) }},
		{"capset", func() error { return hold(unix.CAP_SYS_PTRACE) }},
		{"ambient", func() error {
			hold(unix.CAP_KILL) // root holds it as inheritable first, where it may
			return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_KILL, 0, 0)
		}},
		{"bounding", func() error {
			n, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0)
			if err == nil && n == 0 {
				err = unix.EPERM
			}
			return err
		}},
		{"no-new-privs", func() error {
			n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err == nil && n == 1 {
				err = unix.EPERM // it is set, and nothing can take it back
			}
			return err
		}},
		{"chown", func() error {
			path := filepath.Join(dir, ".attack-chown")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			defer os.Remove(path)
			return unix.Chown(path, 12345, 12345)
		}},
		{"unshare-user", func() error { return unshare(unix.CLONE_NEWUSER) }},
		{"unshare-user-high", func() error { return unshare(1<<32 | unix.CLONE_NEWUSER | unix.CLONE_NEWNS) }},
		{"unshare-mount", func() error { return unshare(unix.CLONE_NEWNS) }},
		{"unshare-net", func() error { return unshare(unix.CLONE_NEWNET) }},
		{"clone-user", func() error { return clone(unix.CLONE_NEWUSER) }},
		{"clone-user-net", func() error { return clone(unix.CLONE_NEWUSER | unix.CLONE_NEWNET) }},
		{"clone-pid", func() error { return clone(unix.CLONE_NEWPID) }},
		{"clone3", func() error { return past(call(unix.SYS_CLONE3, 0, 64), unix.EFAULT, unix.EINVAL) }},
		{"setns-own", func() error { return enter("/proc/self/ns/uts", unix.CLONE_NEWUTS) }},
		{"setns-init", func() error { return enter("/proc/1/ns/net", unix.CLONE_NEWNET) }},
		{"keys-session", func() error { return call(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0) }},
		{"keys-read", func() error {
			user := -4 // KEY_SPEC_USER_KEYRING
			return call(unix.SYS_KEYCTL, unix.KEYCTL_READ, uintptr(user), 0, 0)
		}},
		{"keys-add", func() error { _, err := unix.AddKey("user", "attack", []byte("x"), -2); return err }},
		{"keys-request", func() error {
			_, err := unix.RequestKey("user", "attack", "", 0)
			return past(err, unix.ENOKEY, unix.ENOENT)
		}},
		{"priority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -1) }},
		{"int80", foreignI386},
		{"x32", foreignX32},
	}
}

func hold(capability int) error {
	mask := uint32(1) << capability
	all := [2]unix.CapUserData{{Effective: mask, Permitted: mask, Inheritable: mask}}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &all[0])
}

// unshare: a program with threads, as this one is, may not enter a user namespace, and that is looked at late.
func unshare(flags int) error {
	return past(onThread(func() error { return unix.Unshare(flags) }), unix.EINVAL)
}

func clone(flags uintptr) error {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"attack", "open"},
		&syscall.ProcAttr{Files: []uintptr{}, Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err == nil {
		_, err = syscall.Wait4(pid, nil, 0, nil)
	}
	return err
}

func enter(path string, kind int) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return onThread(func() error { return unix.Setns(fd, kind) })
}

// kernel: mounts, devices, and system calls that only a privileged program has. Where a call could do harm its
// arguments are wrong, and the error shows whether it got as far as to look at them.
func kernel(dir string) []attempt {
	node := filepath.Join(dir, ".attack-node")
	device := func(mode uint32, major, minor uint32) func() error {
		return func() error {
			defer os.Remove(node)
			return unix.Mknod(node, mode|0o600, int(unix.Mkdev(major, minor)))
		}
	}
	return []attempt{
		{"mount-tmpfs", func() error { return mounted(dir, unix.Mount("none", dir, "tmpfs", 0, "")) }},
		{"mount-bind", func() error { return mounted(dir, unix.Mount("/", dir, "", unix.MS_BIND, "")) }},
		{"mount-private", func() error { return past(unix.Mount("none", dir, "", unix.MS_PRIVATE, ""), unix.EINVAL) }},
		{"umount", func() error { return past(unix.Unmount(dir, unix.MNT_DETACH), unix.EINVAL) }},
		{"open-tree", func() error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"fsopen", func() error { _, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC); return err }},
		{"pivot-root", func() error { return past(unix.PivotRoot(dir, dir), unix.EINVAL, unix.EBUSY) }},
		{"chroot", func() error { return unix.Chroot("/") }},
		{"mknod-null", device(unix.S_IFCHR, 1, 3)},
		{"mknod-mem", device(unix.S_IFCHR, 1, 1)},
		{"mknod-disk", device(unix.S_IFBLK, 254, 0)},
		{"mknod-whiteout", device(unix.S_IFCHR, 0, 0)},
		{"io-uring", ioUring},
		{"bpf", bpf},
		{"perf-all", func() error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
			_, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
			return err
		}},
		{"module", func() error { return past(unix.InitModule([]byte("x"), ""), unix.ENOEXEC) }},
		{"kexec", func() error { return past(call(unix.SYS_KEXEC_LOAD, 0, 99, 0, 0xff00), unix.EINVAL) }},
		{"reboot", func() error { return past(call(unix.SYS_REBOOT, 1, 2, 3), unix.EINVAL) }},
		{"syslog", func() error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 64)); return err }},
		{"swapon", func() error {
			p, _ := unix.BytePtrFromString("/nothing/here")
			return past(call(unix.SYS_SWAPON, uintptr(unsafe.Pointer(p)), 0), unix.ENOENT)
		}},
		{"hostname", func() error { return past(call(unix.SYS_SETHOSTNAME, 0, 1<<20), unix.EINVAL) }},
		{"clock", func() error {
			_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_TICK})
			return past(err, unix.EINVAL)
		}},
		{"raw-socket", func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
		{"packet-socket", func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{"sysctl", func() error { return open("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
		{"sysrq", func() error { return open("/proc/sysrq-trigger", unix.O_WRONLY) }},
		{"sysfs", func() error { return open("/sys/power/state", unix.O_WRONLY) }},
		{"cgroup", func() error { return open("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }},
		{"kcore", func() error { return readThrough("/proc/kcore") }},
		{"own-oom", func() error { return open("/proc/self/oom_score_adj", unix.O_WRONLY) }},
	}
}

func mounted(dir string, err error) error {
	if err == nil {
		unix.Unmount(dir, unix.MNT_DETACH)
	}
	return err
}

func ioUring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// bpf makes a small array.
func bpf() error {
	attr := [16]uint32{2 /* BPF_MAP_TYPE_ARRAY */, 4, 4, 1}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// foreignX32 asks for the process number as an x32 program does.
func foreignX32() error { return call(unix.SYS_GETPID | 0x40000000) }

// reached is what a foreign call returned: a process number, or minus an errno.
func reached(r int32) error {
	if r < 0 {
		return syscall.Errno(-r)
	}
	if int(r) != os.Getpid() {
		return errors.New("returned " + strconv.Itoa(int(r)))
	}
	return nil
}
