package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// serveAttempts holds listeners of every kind open and says what reaches them.
func serveAttempts(args []string) ([]attempt, error) {
	if len(args) != 1 {
		return nil, errors.New("wants a folder")
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:"+port)
	if err != nil {
		return nil, err
	}
	path, err := net.Listen("unix", filepath.Join(args[0], "sock"))
	if err != nil {
		return nil, err
	}
	abstract, err := net.Listen("unix", "@attack-"+port)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(args[0], "port"), []byte(port), 0o644); err != nil {
		return nil, err
	}
	for name, l := range map[string]net.Listener{"tcp": tcp, "path": path, "abstract": abstract} {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Println("contact:", name)
				conn.Close()
			}
		}()
	}
	fmt.Println("ready:", os.Getpid(), port)
	for {
		_, from, err := udp.ReadFrom(make([]byte, 16))
		if err != nil {
			return nil, err
		}
		fmt.Println("contact: udp")
		udp.WriteTo([]byte("x"), from)
	}
}

// networkAttempts: what leads out of a network in which one proxy is all there is.
func networkAttempts(args []string) ([]attempt, error) {
	if len(args) == 0 {
		return nil, errors.New("wants the folder of a server")
	}
	data, err := os.ReadFile(filepath.Join(args[0], "port"))
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(string(data))
	if err != nil {
		return nil, err
	}
	all := append(families(), unixSockets(args[0], port)...)
	all = append(all, loopback(port)...)
	all = append(all, settings()...)
	if len(args) > 1 {
		all = append(all, away()...)
	}
	return all, nil
}

// families are the kinds of sockets that a network namespace does not hold, or that take a privilege.
func families() []attempt {
	var all []attempt
	for _, f := range []struct {
		name                   string
		family, kind, protocol int
	}{
		{"unix-stream", unix.AF_UNIX, unix.SOCK_STREAM, 0},
		{"unix-datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		{"unix-packet", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
		{"raw6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW},
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		{"ping6", unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6},
		{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
		{"crypto", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"can", unix.AF_CAN, unix.SOCK_RAW, 1},
		{"xdp", unix.AF_XDP, unix.SOCK_RAW, 0},
		{"tipc", unix.AF_TIPC, unix.SOCK_RDM, 0},
		{"kcm", unix.AF_KCM, unix.SOCK_DGRAM, 0},
		{"smc", unix.AF_SMC, unix.SOCK_STREAM, 0},
		{"nl-usersock", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK},
		{"nl-diag", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG},
		{"nl-audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
		{"nl-uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		{"nl-generic", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
	} {
		all = append(all, attempt{f.name, func() error { return socket(f.family, f.kind, f.protocol) }})
	}
	return append(all, attempt{"pair-datagram", func() error {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			unix.Close(p[0])
			unix.Close(p[1])
		}
		return err
	}})
}

// unixSockets reach for the server's sockets with a name. A datagram of a pair could be sent anywhere.
func unixSockets(dir string, port int) []attempt {
	dial := func(name string) func() error {
		return func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		}
	}
	return []attempt{
		{"path", dial(filepath.Join(dir, "sock"))},
		{"abstract", dial("@attack-" + strconv.Itoa(port))},
	}
}

// loopback reaches for the server by every protocol that gets to the machine's own loopback.
func loopback(port int) []attempt {
	four := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	mapped := &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	stream := func(family, protocol int, to unix.Sockaddr) func() error {
		return func() error {
			fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, protocol)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Connect(fd, to)
		}
	}
	return []attempt{
		{"tcp", stream(unix.AF_INET, 0, four)},
		{"tcp-mapped", stream(unix.AF_INET6, 0, mapped)},
		{"mptcp", stream(unix.AF_INET, unix.IPPROTO_MPTCP, four)},
		{"fast-open", func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, four)
		}},
		{"udp", func() error {
			conn, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("x")); err != nil {
				return err
			}
			conn.SetReadDeadline(time.Now().Add(3 * time.Second))
			_, err = conn.Read(make([]byte, 1)) // the server answers; where there is none, the kernel does
			return err
		}},
		{"io-uring", ioUring},
	}
}

// settings change the network that this process is in.
func settings() []attempt {
	return []attempt{
		{"interface-down", func() error {
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
			return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo) // to what they are
		}},
		{"new-interface", newInterface},
		{"setns-parent", func() error { return enter(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()), unix.CLONE_NEWNET) }},
		{"setns-init", func() error { return enter("/proc/1/ns/net", unix.CLONE_NEWNET) }},
		{"unshare-user", func() error { return apart("/", "unshare-user") }},
		{"clone-user-net", func() error { return apart("/", "clone-user-net") }},
		{"tun", func() error { return open("/dev/net/tun", unix.O_RDWR) }},
	}
}

// newInterface asks route netlink, which may be asked for lists, for a new link: one without a kind, so that the
// answer to who may is EINVAL or EOPNOTSUPP and nothing is made.
func newInterface() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var msg struct {
		head unix.NlMsghdr
		body unix.IfInfomsg
	}
	msg.head.Len, msg.head.Type = uint32(unsafe.Sizeof(msg)), unix.RTM_NEWLINK
	msg.head.Flags = unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_EXCL
	data := unsafe.Slice((*byte)(unsafe.Pointer(&msg)), unsafe.Sizeof(msg))
	if err := unix.Sendto(fd, data, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 {
		return errors.New("short answer")
	}
	code := *(*int32)(unsafe.Pointer(&answer[16])) // behind the header
	if code == 0 {
		return nil
	}
	return past(unix.Errno(-code), unix.EINVAL, unix.EOPNOTSUPP)
}

// away reaches for other machines. The address is one of those set aside for documents.
func away() []attempt {
	dial := func(network, to string) func() error {
		return func() error {
			conn, err := net.DialTimeout(network, to, 3*time.Second)
			if err != nil {
				return err
			}
			return conn.Close()
		}
	}
	return []attempt{
		{"away-tcp", dial("tcp4", "192.0.2.1:443")},
		{"away-tcp6", dial("tcp6", "[2001:db8::1]:443")},
		{"away-udp", dial("udp4", "192.0.2.1:53")},
		{"away-link-local", dial("tcp4", "169.254.169.254:80")},
		{"away-dns", func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			_, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, "host.invalid.")
			if err != nil && strings.Contains(err.Error(), "no such host") {
				return nil // somebody answered
			}
			return err
		}},
	}
}
