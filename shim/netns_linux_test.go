package shim

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// modelNetwork gives a trial the host's end of the socket and returns the other.
func modelNetwork(r *trial) *os.File {
	r.t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	host := os.NewFile(uintptr(pair[0]), "host")
	r.listen = os.NewFile(uintptr(pair[1]), "listener")
	r.policy.Network = NetworkModel
	r.t.Cleanup(func() { host.Close(); r.listen.Close() })
	return host
}

// receive takes the listener as the host does.
func receive(t *testing.T, host *os.File) *net.TCPListener {
	t.Helper()
	unix.SetsockoptTimeval(int(host.Fd()), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	data, control := make([]byte, 8), make([]byte, 64)
	n, m, _, _, err := unix.Recvmsg(int(host.Fd()), data, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n != 1 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:m])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%d descriptors, %v", len(fds), err)
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func TestModelNetwork(t *testing.T) {
	asUsers(t, func(r *trial) {
		host := modelNetwork(r)
		accepted := make(chan error, 1)
		go func() {
			l := receive(r.t, host)
			l.SetDeadline(time.Now().Add(10 * time.Second))
			c, err := l.AcceptTCP()
			if err == nil {
				wantCongestionControl(r.t, c)
				c.Close()
			}
			accepted <- err
		}()
		outside, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		defer outside.Close()
		proxy := net.JoinHostPort(ModelAddr, "8787")
		got := r.probe("dial", proxy, outside.Addr().String(), "192.0.2.1:80")
		r.want(got, proxy, "ok")
		r.want(got, outside.Addr().String(), "ECONNREFUSED")
		r.want(got, "192.0.2.1:80", "ENETUNREACH")
		if err := <-accepted; err != nil {
			r.t.Error(err)
		}
	})
}

func wantCongestionControl(t *testing.T, c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); got != congestionControl || err != nil {
			t.Errorf("the host's end sends by %q, %v", got, err)
		}
	})
}

// TestNoNetwork: no listener comes out, nothing answers, and the target is as confined as in the model network.
func TestNoNetwork(t *testing.T) {
	asUsers(t, func(r *trial) {
		host := modelNetwork(r)
		r.policy.Network = NetworkNone
		outside, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		defer outside.Close()
		proxy := net.JoinHostPort(ModelAddr, "8787")
		got := r.probe("dial", proxy, outside.Addr().String(), "192.0.2.1:80")
		r.want(got, proxy, "ECONNREFUSED")
		r.want(got, outside.Addr().String(), "ECONNREFUSED")
		r.want(got, "192.0.2.1:80", "ENETUNREACH")
		got = r.probe("attack", "1")
		for call, want := range map[string]string{"inet": "ok", "route": "ok", "unix": "EPERM", "vsock": "EPERM"} {
			r.want(got, call, want)
		}
		r.listen.Close()
		unix.SetsockoptTimeval(int(host.Fd()), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
		if n, m, _, _, err := unix.Recvmsg(int(host.Fd()), make([]byte, 8), make([]byte, 64), 0); n != 0 || m != 0 || err != nil {
			r.t.Errorf("%d bytes and %d of control came out, %v", n, m, err)
		}
	})
}

func TestModelNetworkTarget(t *testing.T) {
	asUsers(t, func(r *trial) {
		modelNetwork(r)
		got := r.probe("report")
		r.want(got, "descriptor", "0 1 2")
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			r.want(got, set, ".")
		}
		got = r.probe("attack", "1")
		for call, want := range map[string]string{"inet": "ok", "route": "ok", "unix": "EPERM", "vsock": "EPERM"} {
			r.want(got, call, want)
		}
	})
}

// Root without the capability (a container's) gets by with a user namespace, as everybody does.
func TestModelNetworkAsRootWithoutCapability(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if os.Getuid() != 0 || err != nil || LandlockABI() == 0 {
		t.Skip("needs root, setpriv and Landlock")
	}
	r := newTrial(t, 0)
	modelNetwork(r)
	cmd := r.command(r.self, probeName, "report")
	script := `exec -a "$0" "$@"` // setpriv cannot choose its program's name
	cmd.Args = append([]string{"setpriv", "--bounding-set", "-sys_admin", "bash", "-c", script, probeName, r.self}, cmd.Args[1:]...)
	cmd.Path = setpriv
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "CapEff .") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestModelNetworkNeedsItsListener(t *testing.T) {
	asUsers(t, func(r *trial) {
		r.policy.Network = NetworkModel
		r.refused(`refused: sandbox: network "model": no listener socket was given (sandbox true)`, r.self)
		r.policy.Network = NetworkNone
		r.refused(`refused: sandbox: network "none": no listener socket was given (sandbox true)`, r.self)
		modelNetwork(r)
		r.policy.Network = NetworkOpen
		r.refused(`refused: sandbox: listener: a socket was given, but the network is "open" (sandbox true)`, r.self)
	})
}

func TestNetworkFailureNamesTheCure(t *testing.T) {
	text := networkFailure(&os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: unix.EPERM}).Error()
	for _, want := range []string{`network of its own: operation not permitted`, "kernel.unprivileged_userns_clone", "user.max_user_namespaces",
		"kernel.apparmor_restrict_unprivileged_userns", `"network": "open"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
