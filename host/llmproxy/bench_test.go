package llmproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostshim/host/credential"
)

// bench is a proxy in this process between an upstream and a load in another (peer_test.go).
type bench struct {
	b       *testing.B
	peer    io.Writer
	answers *bufio.Reader
	direct  string // the upstream's address
	proxy   string // the proxy's
	pairing string
	own     float64 // allocations a request that are the benchmark's own: its provider makes what the host's would
}

func newBench(b *testing.B) *bench {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	x := &bench{b: b, peer: in, answers: bufio.NewReader(out)}
	x.direct = x.answer()

	config := plainConfig()
	config.Log = slogTo(io.Discard)
	config.Provider = func(string, string) (Provider, error) {
		return Provider{Upstream: &url.URL{Scheme: "http", Host: x.direct}, Credential: credential.NewSecret([]byte("sk-ant-oat01-bench"))}, nil
	}
	x.own = testing.AllocsPerRun(100, func() { config.Provider("", "") })
	p := New(config)
	b.Cleanup(func() { p.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	x.proxy = l.Addr().String()
	p.Start(l)
	_, secret, err := p.Create("bench", 0)
	if err != nil {
		b.Fatal(err)
	}
	x.pairing = string(secret.Reveal())
	return x
}

// nginx starts the reference in front of the same upstream, "" where there is none.
func (x *bench) nginx() string {
	program, err := exec.LookPath("nginx")
	if err != nil {
		return ""
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.b.Fatal(err)
	}
	addr, dir := l.Addr().String(), x.b.TempDir()
	l.Close()
	conf := fmt.Sprintf(nginxConf, dir, dir, dir, x.direct, addr)
	if err := os.WriteFile(dir+"/nginx.conf", []byte(conf), 0o600); err != nil {
		x.b.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", dir+"/nginx.conf", "-e", dir+"/error.log")
	if err := cmd.Start(); err != nil {
		x.b.Fatal(err)
	}
	x.b.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr
		}
		<-tick.C
	}
	x.b.Fatal("nginx does not answer")
	return ""
}

const nginxConf = `daemon off; pid %s/pid; worker_processes auto; user root;
events { worker_connections 4096; }
http {
	access_log %s/access.log; client_body_temp_path %s/body; client_max_body_size 0;
	upstream peer { server %s; keepalive 256; }
	server {
		listen %s backlog=4096;
		keepalive_requests 1000000000;
		location / {
			proxy_pass http://peer; proxy_http_version 1.1; proxy_set_header Connection "";
			proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h;
		}
	}
}`

func (x *bench) answer() string {
	line, err := x.answers.ReadString('\n')
	if err != nil {
		x.b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (x *bench) load(kind, addr string, args ...int) string {
	fmt.Fprint(x.peer, kind, " ", addr, " ", x.pairing)
	for _, a := range args {
		fmt.Fprint(x.peer, " ", a)
	}
	fmt.Fprintln(x.peer)
	return x.answer()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPost: 115 KB up, 2 KB down. ns/op is wall time; cpu-µs/op and allocs/req are the proxy's own.
func BenchmarkPost(b *testing.B) {
	for _, conns := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("conns=", conns), func(b *testing.B) {
			x := newBench(b)
			x.load("post", x.proxy, conns, 20*conns) // connections and pools
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			cpu := cpuTime()
			b.ResetTimer()
			ns, _ := strconv.ParseInt(x.load("post", x.proxy, conns, b.N), 10, 64)
			b.StopTimer()
			cpu = cpuTime() - cpu
			runtime.ReadMemStats(&after)
			n := float64(b.N)
			if addr := x.nginx(); addr != "" {
				x.load("post", addr, conns, 20*conns)
				reference, _ := strconv.ParseFloat(x.load("post", addr, conns, b.N), 64)
				b.ReportMetric(reference/float64(ns), "×nginx")
			}
			b.ReportMetric(n/(float64(ns)/1e9), "req/s")
			b.ReportMetric(float64(cpu.Nanoseconds())/1e3/n, "cpu-µs/req")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n-x.own, "allocs/req")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "B/req")
		})
	}
}

// BenchmarkEvents: the median time that an event takes through the proxy and without it, 5 ms apart.
func BenchmarkEvents(b *testing.B) {
	for _, streams := range []int{1, 64} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			x := newBench(b)
			direct, _ := strconv.ParseFloat(x.load("sse", x.direct, streams, 200), 64)
			proxy, _ := strconv.ParseFloat(x.load("sse", x.proxy, streams, 200), 64)
			if addr := x.nginx(); addr != "" {
				nginx, _ := strconv.ParseFloat(x.load("sse", addr, streams, 200), 64)
				b.ReportMetric((nginx-direct)/1e3, "nginx-added-µs")
			}
			b.ReportMetric(direct/1e3, "direct-µs")
			b.ReportMetric(proxy/1e3, "proxied-µs")
			b.ReportMetric((proxy-direct)/1e3, "added-µs")
		})
	}
}

// BenchmarkIdleStream: what a stream costs that waits for its next event, by the process's resident memory.
func BenchmarkIdleStream(b *testing.B) {
	const streams = 1000
	x := newBench(b)
	x.load("post", x.proxy, 4, 100)
	settle := func() float64 {
		runtime.GC()
		debug.FreeOSMemory()
		return residentBytes(b)
	}
	before := settle()
	x.load("idle", x.proxy, streams)
	b.ReportMetric((residentBytes(b)-before)/1024/streams, "KB/stream-fresh")
	b.ReportMetric((settle()-before)/1024/streams, "KB/stream")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/1024/streams, "heap-KB/stream")
	b.ReportMetric(float64(m.StackInuse)/1024/streams, "stack-KB/stream")
}

func residentBytes(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(status))[1], 64)
	return pages * float64(os.Getpagesize())
}
