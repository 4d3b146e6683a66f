package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processAttempts: what gives a hold on another process. Signals are SIGCONT, which changes nothing.
func processAttempts(args []string) ([]attempt, error) {
	return eachProcess(args, func(pid int) []attempt {
		all := procFiles(pid)
		all = append(all, tracing(pid)...)
		return append(all, signals(pid)...)
	})
}

// lowerAttempts: what the kernel lets any program of one user do to another, and shows of it to anyone.
func lowerAttempts(args []string) ([]attempt, error) {
	return eachProcess(args, func(pid int) []attempt {
		return []attempt{
			{"nice", func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 1) }},
			{"affinity", func() error {
				var set unix.CPUSet
				if err := unix.SchedGetaffinity(pid, &set); err != nil {
					return err
				}
				return unix.SchedSetaffinity(pid, &set)
			}},
			{"scheduler", func() error {
				var param int32
				return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_BATCH, uintptr(unsafe.Pointer(&param)))
			}},
			{"io-priority", func() error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 2<<13|7) }},
			{"command-line", func() error { return readThrough(fmt.Sprintf("/proc/%d/cmdline", pid)) }},
			{"status", func() error { return readThrough(fmt.Sprintf("/proc/%d/status", pid)) }},
			{"mounts", func() error { return readThrough(fmt.Sprintf("/proc/%d/mountinfo", pid)) }},
			{"fd-numbers", func() error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); return err }},
		}
	})
}

// eachProcess names every attempt after its process, where there are several.
func eachProcess(args []string, attempts func(pid int) []attempt) ([]attempt, error) {
	var all []attempt
	for _, word := range args {
		pid, err := who(word)
		if err != nil {
			return nil, err
		}
		if pid <= 1 {
			return nil, fmt.Errorf("%s is process %d", word, pid)
		}
		prefix := ""
		if len(args) > 1 {
			prefix = word + "."
		}
		for _, a := range attempts(pid) {
			all = append(all, attempt{prefix + a.name, func() error {
				err := a.run()
				if unix.Kill(pid, 0) == unix.ESRCH {
					return errors.New("the process is gone")
				}
				return err
			}})
		}
	}
	return all, nil
}

// procFiles are the entries of /proc that tell, or change, what only the process should.
func procFiles(pid int) []attempt {
	path := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	var all []attempt
	for _, name := range []string{"environ", "maps", "smaps", "auxv", "io", "syscall", "stack", "pagemap"} {
		all = append(all, attempt{name, func() error { return past(readThrough(path(name)), unix.EIO) }})
	}
	for _, name := range []string{"mem", "clear_refs", "oom_score_adj", "coredump_filter", "timerslack_ns", "comm"} {
		all = append(all, attempt{"write-" + name, func() error { return open(path(name), unix.O_WRONLY) }})
	}
	return append(all,
		attempt{"mem", func() error { return open(path("mem"), unix.O_RDONLY) }},
		attempt{"root", func() error { return open(path("root/etc"), unix.O_RDONLY) }},
		attempt{"cwd", func() error { return open(path("cwd"), unix.O_RDONLY) }},
		attempt{"exe", func() error { return open(path("exe"), unix.O_RDONLY) }},
		attempt{"where-root", func() error { _, err := os.Readlink(path("root")); return err }},
		attempt{"where-cwd", func() error { _, err := os.Readlink(path("cwd")); return err }},
		attempt{"fd-0", func() error { return openAny(path("fd/0")) }},
		attempt{"fd-1", func() error { return openAny(path("fd/1")) }},
		attempt{"map-files", func() error { _, err := os.ReadDir(path("map_files")); return err }},
		attempt{"ns-user", func() error { return open(path("ns/user"), unix.O_RDONLY) }},
		attempt{"ns-net", func() error { return open(path("ns/net"), unix.O_RDONLY) }},
	)
}

func openAny(path string) error {
	if err := open(path, unix.O_RDONLY); err != nil {
		return open(path, unix.O_WRONLY)
	}
	return nil
}

func tracing(pid int) []attempt {
	var byteAt [1]byte
	local := []unix.Iovec{{Base: &byteAt[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: 4096, Len: 1}} // nothing is there: EFAULT says that it would be read
	return []attempt{
		{"ptrace-attach", func() error { return traced(pid, func() error { return unix.PtraceAttach(pid) }) }},
		{"ptrace-seize", func() error { return traced(pid, func() error { return unix.PtraceSeize(pid) }) }},
		{"vm-read", func() error { _, err := unix.ProcessVMReadv(pid, local, remote, 0); return past(err, unix.EFAULT) }},
		{"vm-write", func() error { _, err := unix.ProcessVMWritev(pid, local, remote, 0); return past(err, unix.EFAULT) }},
		{"pidfd-getfd", func() error {
			return withPidfd(pid, func(fd int) error {
				got, err := unix.PidfdGetfd(fd, 0, 0)
				if err == nil {
					unix.Close(got)
				}
				return err
			})
		}},
		{"pidfd-setns", func() error {
			return withPidfd(pid, func(fd int) error { return onThread(func() error { return unix.Setns(fd, unix.CLONE_NEWNET) }) })
		}},
		{"kcmp", func() error {
			return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 1 /* KCMP_VM */, 0, 0)
		}},
		{"move-pages", func() error {
			page, status := uintptr(4096), int32(0)
			return call(unix.SYS_MOVE_PAGES, uintptr(pid), 1, uintptr(unsafe.Pointer(&page)), 0, uintptr(unsafe.Pointer(&status)), 0)
		}},
		{"perf", func() error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
				Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"get-limit", func() error { return unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) }},
		{"set-limit", func() error { return setLimit(pid) }},
	}
}

// setLimit sets the limit that the process has already, so that without a sandbox it keeps it.
func setLimit(pid int) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &l); err != nil {
		l = unix.Rlimit{Cur: 0, Max: 0}
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &l, nil)
}

// traced attaches, and lets go again: a tracer is a thread.
func traced(pid int, attach func() error) error {
	return onThread(func() error {
		if err := attach(); err != nil {
			return err
		}
		unix.PtraceInterrupt(pid) // which a seized process needs, to be let go
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, unix.WALL, nil)
		return unix.PtraceDetach(pid)
	})
}

// onThread runs something on a thread that ends with it: what it did to itself reaches no other.
func onThread(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- do()
	}()
	return <-result
}

func withPidfd(pid int, do func(fd int) error) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func signals(pid int) []attempt {
	info := &struct {
		signo, errno, code int32
		rest               [29]int32
	}{signo: int32(unix.SIGCONT), code: -1} // SI_QUEUE: who sends on another's behalf must not claim the kernel's
	p, cont := uintptr(pid), uintptr(unix.SIGCONT)
	return []attempt{
		{"kill-0", func() error { return unix.Kill(pid, 0) }},
		{"kill", func() error { return unix.Kill(pid, unix.SIGCONT) }},
		{"tkill", func() error { return call(unix.SYS_TKILL, p, cont) }},
		{"tgkill", func() error { return unix.Tgkill(pid, pid, unix.SIGCONT) }},
		{"sigqueue", func() error { return call(unix.SYS_RT_SIGQUEUEINFO, p, cont, uintptr(unsafe.Pointer(info))) }},
		{"tgsigqueue", func() error { return call(unix.SYS_RT_TGSIGQUEUEINFO, p, p, cont, uintptr(unsafe.Pointer(info))) }},
		{"pidfd-signal", func() error {
			return withPidfd(pid, func(fd int) error { return unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0) })
		}},
	}
}

// tracedAttempts leave a tracer that waits for nothing, and its child, which is stopped for it even on its way out.
func tracedAttempts([]string) ([]attempt, error) {
	return []attempt{{"traced", func() error {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "60"},
			&syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Ptrace: true, Setsid: true}})
		if err != nil {
			return err
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
			return err
		}
		if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEEXIT); err != nil {
			return err
		}
		fmt.Println("traced:", pid)
		for {
			unix.Select(0, nil, nil, nil, nil)
		}
	}}}, nil
}

// trappedAttempts: a stop for the tracer looks, to a parent that only waits for an end, like one.
func trappedAttempts([]string) ([]attempt, error) {
	return []attempt{
		{"own-death", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
		{"traceme", func() error { return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0) }},
		{"stop", func() error { return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGUSR1) }},
		{"still-here", func() error { return nil }},
	}, nil
}
