package shim

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownNetwork starts the child in a network namespace of its own, which has only a loopback device. A user who may not
// make one needs a user namespace around it. In that namespace the user keeps his ids, and all others show as nobody.
func ownNetwork(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= unix.CLONE_NEWNET
	if mayMakeNetworks() {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	uid, gid := os.Geteuid(), os.Getegid()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.GidMappingsEnableSetgroups = false
	// An ordinary user keeps only ambient capabilities when the second stage is executed: one to bring the loopback up,
	// one to empty the bounding set, one for mounts.
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_ADMIN}
}

// mayMakeNetworks looks at the capabilities too, because root in a container often lacks them.
func mayMakeNetworks() bool {
	var caps [2]unix.CapUserData
	if unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]) != nil {
		return false
	}
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	return os.Geteuid() == 0 && caps[0].Effective&need == need
}

// checkNetwork refuses a policy that does not fit the launch: a network of its own is made where a listener socket was given,
// also where no listener is to come.
func checkNetwork(p *Policy, listener bool) error {
	switch own := p.ownNetwork(); {
	case own == listener:
		return nil
	case own:
		return stageFailure(`sandbox: network "`+p.Network+`"`, errors.New("no listener socket was given"))
	}
	return stageFailure("sandbox: listener", errors.New(`a socket was given, but the network is "open"`))
}

// stageNetwork makes a network of the session's own (X09). The new namespace has only a loopback device, which is down.
// This brings it up and, for the network "model", makes the listener for the host's proxy, and sends it to the host. A
// socket stays in the namespace where it was made. So the host accepts on it directly, and nobody else on the machine can
// reach it.
func stageNetwork(p *Policy) error {
	if err := raiseLoopback(); err != nil {
		return networkFailure(err)
	}
	sendAtOnce()
	defer unix.Close(stageListenerFD)
	if p.Network == NetworkNone {
		return nil
	}
	fd, err := listenOnLoopback()
	if err != nil {
		return stageFailure("sandbox: listener", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendmsg(stageListenerFD, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL); err != nil {
		return stageFailure("sandbox: listener", err)
	}
	return nil
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// congestionControl holds nothing back. A machine's own may send by a clock (BBR), which on a loopback device costs half
// the speed. Every kernel has Reno, and any namespace may use it.
const congestionControl = "reno"

// sendAtOnce chooses it for the session's network. A container's /proc/sys may be read-only: then only the host's end has it.
func sendAtOnce() {
	if fd, err := unix.Open("/proc/sys/net/ipv4/tcp_congestion_control", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		unix.Write(fd, []byte(congestionControl))
		unix.Close(fd)
	}
}

func listenOnLoopback() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestionControl) // connections inherit it
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: ModelPort, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// networkFailure says why no network namespace can be made. Systems switch user namespaces off in several ways: the
// clone fails, the write of the id maps fails, or the new capabilities have no effect.
func networkFailure(err error) error {
	e := &stageError{Sandbox: true, Step: "sandbox: network of its own"}
	if !errors.As(err, &e.Errno) {
		e.Reason = err.Error()
	}
	switch e.Errno {
	case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.EINVAL, unix.ENOSYS:
		e.Reason = `user namespaces are switched off here: load the AppArmor profile docs/examples/apparmor-shim if kernel.apparmor_restrict_unprivileged_userns ` +
			`is 1, else see kernel.unprivileged_userns_clone and user.max_user_namespaces; in a container its seccomp profile has to let clone, unshare and mount pass; or use "network": "open"`
	}
	return e
}
