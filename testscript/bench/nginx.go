//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// front is something before the upstream, for clients to call.
type front struct {
	name     string
	address  string // host and port
	upstream string // the same of what it stands before
	prefix   string // of every path
	pairing  string
	pid      int // whose process, with its children, serves; 0: nobody's
}

// nginxConf streams like the proxy does: nothing buffered, and a line of log a request.
const nginxConf = `%[1]sdaemon off; pid %[2]s/pid; worker_processes auto; worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
	access_log %[2]s/access.log; client_body_temp_path %[2]s/body; client_max_body_size 0;
	proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
	upstream provider { server %[3]s; keepalive 256; }
	server {
		listen %[4]s backlog=4096; keepalive_requests 1000000000;
		location / {
			proxy_pass %[5]s://provider; proxy_http_version 1.1; proxy_set_header Connection "";
			proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h;
		}
	}
}
`

// startNginx starts the reference before an upstream.
func (b *bench) startNginx(upstream upstream) (front, error) {
	path, err := program("nginx")
	if err != nil {
		return front{}, err
	}
	dir := filepath.Join(b.dir, "nginx-"+upstream.scheme)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return front{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port; it takes numbers only
	if err != nil {
		return front{}, err
	}
	f := front{name: "nginx", address: l.Addr().String(), upstream: upstream.address}
	l.Close()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root; " // its usual user could not enter the folder
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, user, dir, upstream.address, f.address, upstream.scheme), 0o600); err != nil {
		return front{}, err
	}
	p, err := b.start("nginx", exec.Command(path, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log")))
	if err != nil {
		return front{}, err
	}
	f.pid = p.Process.Pid
	return f, until("nginx", 5*time.Second, func() bool {
		c, err := net.Dial("tcp", f.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// startProxy starts the long-lived host with its model proxy before an upstream.
func (b *bench) startProxy(upstream upstream) (front, error) {
	h, err := b.startHost("proxy-"+upstream.scheme, upstream.scheme+"://"+upstream.address, upstream.env...)
	if err != nil {
		return front{}, err
	}
	f := front{name: "proxy", prefix: "/sandbox", upstream: upstream.address, pid: h.Process.Pid}
	f.pairing, f.address, err = h.pairing()
	return f, err
}

// all are the processes of a front.
func (f front) all() []int { return append(children(f.pid), f.pid) }

// cpu is what the front's processes have used so far.
func (f front) cpu() (sum time.Duration, err error) {
	for _, pid := range f.all() {
		d, err := cpuTime(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// memory is what the front's processes hold.
func (f front) memory() (sum float64, err error) {
	for _, pid := range f.all() {
		kib, err := memoryKiB(pid)
		if err != nil {
			return 0, err
		}
		sum += kib
	}
	return sum, nil
}
