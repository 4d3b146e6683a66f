// Names makes a network of a script's own, in which names lead to addresses, and runs programs there. Only root can.
//
//	names HOSTS                   holds it: HOSTS stands in place of /etc/hosts, and its 10.… addresses are the machine's
//	                              own; prints "ready: PID"
//	names PID UID PROGRAM ARGS…   becomes the program, there, as that user
package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() { runtime.LockOSThread() } // the main thread, whose namespaces are the process's

func main() {
	err := hold(os.Args[1])
	if len(os.Args) > 3 {
		err = join(os.Args[1], os.Args[2], os.Args[3:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "names: error:", err)
		os.Exit(1)
	}
}

func hold(hosts string) error {
	if len(os.Args) > 2 {
		return nil
	}
	text, err := os.ReadFile(hosts)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private: %w", err)
	}
	if err := unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("/etc/hosts: %w", err)
	}
	if err := raise("lo", ""); err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if address, _, _ := strings.Cut(line, " "); strings.HasPrefix(address, "10.") {
			if err := raise("lo:"+strconv.Itoa(i), address); err != nil {
				return err
			}
		}
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Println("ready:", os.Getpid())
	<-stop
	return nil
}

func raise(name, address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if address != "" {
		a := netip.MustParseAddr(address).As4()
		if err := r.SetInet4Addr(a[:]); err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, r)
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

func join(pid, user string, argv []string) error {
	uid, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // else a thread cannot have mounts of its own
		return err
	}
	for _, kind := range []string{"net", "mnt"} {
		fd, err := unix.Open("/proc/"+pid+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("setns %s: %w", kind, err)
		}
		unix.Close(fd)
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if uid != 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setresgid(uid, uid, uid); err != nil {
			return err
		}
		if err := syscall.Setresuid(uid, uid, uid); err != nil {
			return err
		}
	}
	return syscall.Exec(path, argv, os.Environ())
}
