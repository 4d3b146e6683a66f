//go:build linux

package main

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tunnelArg makes this program the client of a session's way out: `plain ADDRESS BYTES` and `tls ADDRESS BYTES` download,
// `hold ADDRESS TUNNELS` waits.
const tunnelArg = "tunnel-client"

const (
	downloadBytes = 1 << 30
	idleTunnels   = 256
)

// tunnelClient goes by the proxy that the environment names, or straight.
func tunnelClient(args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if args[0] == "hold" {
		return holdTunnels(args[1], n)
	}
	begun := time.Now()
	c, err := reach(args[1])
	if err != nil {
		return err
	}
	if args[0] == "tls" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // the bench's own
	}
	if err := binary.Write(c, binary.BigEndian, uint64(n)); err != nil {
		return err
	}
	got := 0
	for buf := make([]byte, 256<<10); got < n; {
		m, err := c.Read(buf)
		if got += m; err != nil && got < n {
			return err
		}
	}
	fmt.Println(float64(n) / (1 << 20) / time.Since(begun).Seconds())
	return nil
}

// reach opens a connection, or a tunnel.
func reach(address string) (net.Conn, error) {
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || proxy.Host == "" {
		return net.Dial("tcp", address)
	}
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		return nil, fmt.Errorf("the proxy answers %q", answer)
	}
	return c, nil
}

// holdTunnels opens one tunnel and, when it is told to, the rest.
func holdTunnels(address string, n int) error {
	in := bufio.NewReader(os.Stdin)
	for i := range n {
		c, err := reach(address)
		if err != nil {
			return err
		}
		if err := binary.Write(c, binary.BigEndian, uint64(1)); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return err
		}
		if i == 0 || i == n-1 {
			fmt.Println(i + 1)
			if _, err := in.ReadString('\n'); err != nil {
				return nil
			}
		}
	}
	return nil
}

// serveZeros sends to each connection as many bytes as it asks for, and then waits for its end; with a configuration by
// TLS.
func serveZeros(secure *tls.Config) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	zeros := make([]byte, 256<<10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var n uint64
				if binary.Read(c, binary.BigEndian, &n) != nil {
					return
				}
				for n > 0 {
					m, err := c.Write(zeros[:min(n, uint64(len(zeros)))])
					if err != nil {
						return
					}
					n -= uint64(m)
				}
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l, nil
}

// ways starts what measures a session's way out: servers, and settings that list them.
func (b *bench) ways() (h *home, plain, secure net.Listener, err error) {
	own, err := ownCertificate()
	if err != nil {
		return nil, nil, nil, err
	}
	plain, err1 := serveZeros(nil)
	secure, err2 := serveZeros(&tls.Config{Certificates: []tls.Certificate{own}})
	h, err3 := b.newHome("tunnel", "")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, nil, err
	}
	settings, err := json.Marshal(map[string]any{"terminal_templates": []map[string]any{
		{"id": "out", "network": "none", "hosts": []string{plain.Addr().String(), secure.Addr().String()}}}})
	if err != nil {
		return nil, nil, nil, err
	}
	return h, plain, secure, os.WriteFile(filepath.Join(filepath.Dir(h.token), "settings.json"), settings, 0o600)
}

func tunnelSection(b *bench, t *table) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, plain, secure, err := b.ways()
	if err != nil {
		return err
	}
	defer plain.Close()
	defer secure.Close()
	client := func(inside bool, args ...string) *exec.Cmd {
		cmd := exec.Command(self, append([]string{tunnelArg}, args...)...)
		if inside {
			cmd = exec.Command(filepath.Join(b.bin, "host"), append([]string{"run", "--template", "out", "--dir", b.project(), "--"}, cmd.Args...)...)
		}
		cmd.Env = h.env
		return cmd
	}
	for _, c := range []struct{ kind, text, address string }{
		{"tls", "a download of 1 GiB by TLS, through a tunnel", secure.Addr().String()},
		{"plain", "the same without TLS", plain.Addr().String()},
	} {
		side := func(name string, inside bool) *side {
			return &side{name: name, once: func() (float64, error) {
				cmd := client(inside, c.kind, c.address, strconv.Itoa(downloadBytes))
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					return 0, err
				}
				return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			}}
		}
		tunnel, direct := side("tunnel", true), side("direct", false)
		if err := interleave(b.count(5), tunnel, direct); err != nil {
			return err
		}
		t.add(c.text, "MiB/s", tunnel.got, direct.reference(), ratioAtLeast(0.8))
	}
	return b.idleTunnels(t, client(true, "hold", plain.Addr().String(), strconv.Itoa(idleTunnels)))
}

// idleTunnels measures the memory of the host's with one tunnel and with all that a session may have.
func (b *bench) idleTunnels(t *table, cmd *exec.Cmd) error {
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if _, err := b.start("host-tunnels", cmd); err != nil {
		return err
	}
	var memory [2]float64
	lines := bufio.NewReader(out)
	for i := range memory {
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
		var err error
		if memory[i], err = settledMemory(cmd.Process.Pid); err != nil {
			return t.orSkip("memory of idle tunnels", err)
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			return err
		}
	}
	t.add(fmt.Sprintf("the host's memory per idle tunnel, at %d", idleTunnels), "KiB", samples{(memory[1] - memory[0]) / (idleTunnels - 1)}, reference{}, atMost(24))
	return nil
}
