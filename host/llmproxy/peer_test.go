package llmproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The benchmarks measure this process, so everything that is not the proxy runs in another one: the test binary
// itself, told by an environment variable to be the upstream and the load. Both speak plain bytes, no net/http.

const peerEnv = "LLMPROXY_BENCH_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerEnv) != "" {
		peer()
		return
	}
	os.Exit(m.Run())
}

// peer prints the address of its upstream and then runs one load after another: "post ADDR PAIRING CONNS N",
// "sse ADDR PAIRING STREAMS EVENTS", "idle ADDR PAIRING STREAMS". Each ends with one line on standard output.
func peer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go peerUpstream(c)
		}
	}()
	fmt.Println(l.Addr())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		count, _ := strconv.Atoi(f[3])
		load := peerLoad{addr: f[1], pairing: f[2], conns: count}
		if len(f) > 4 {
			load.n, _ = strconv.Atoi(f[4])
		}
		switch f[0] {
		case "post":
			fmt.Println(load.post())
		case "sse":
			fmt.Println(load.events())
		case "idle":
			fmt.Println(load.idle())
		}
	}
}

var peerAnswer = []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n" +
	"Content-Length: 2048\r\n\r\n" + strings.Repeat("x", 2048))

const peerStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n" +
	"Transfer-Encoding: chunked\r\n\r\n"

// peerUpstream answers POST with 2 KB of JSON, GET /…/sse/N with N events 5 ms apart and GET /…/idle with one
// event and then nothing.
func peerUpstream(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 128<<10)
	for {
		first, length, err := peerHead(r)
		if err != nil {
			return
		}
		r.Discard(length)
		target := strings.Fields(first)[1]
		switch {
		case strings.Contains(target, "/sse/"):
			n, _ := strconv.Atoi(target[strings.LastIndexByte(target, '/')+1:])
			io.WriteString(c, peerStream)
			gap := time.NewTicker(5 * time.Millisecond)
			for range n {
				<-gap.C
				peerEvent(c)
			}
			gap.Stop()
			io.WriteString(c, "0\r\n\r\n")
		case strings.HasSuffix(target, "/idle"):
			io.WriteString(c, peerStream)
			peerEvent(c)
		default:
			c.Write(peerAnswer)
		}
	}
}

func peerEvent(c net.Conn) {
	event := fmt.Sprintf("data: %d %s\n\n", time.Now().UnixNano(), strings.Repeat("x", 120))
	fmt.Fprintf(c, "%x\r\n%s\r\n", len(event), event)
}

func peerHead(r *bufio.Reader) (first string, length int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		if len(line) <= 2 {
			return first, length, nil
		}
		if first == "" {
			first = string(line)
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("content-length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
}

type peerLoad struct {
	addr, pairing string
	conns, n      int
}

func (p peerLoad) request(method, path string, body int) []byte {
	return fmt.Appendf(nil, "%s /sandbox%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, p.addr, p.pairing, body, strings.Repeat("y", body))
}

func (p peerLoad) post() string {
	request := p.request("POST", "/v1/messages?beta=true", 115<<10)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range p.conns {
		n := p.n / p.conns
		if i < p.n%p.conns {
			n++
		}
		wg.Go(func() {
			c, err := net.Dial("tcp", p.addr)
			if err != nil {
				panic(err)
			}
			defer c.Close()
			r := bufio.NewReaderSize(c, 8<<10)
			for range n {
				c.Write(request)
				first, length, err := peerHead(r)
				if err != nil || !strings.Contains(first, " 200 ") {
					panic(fmt.Sprint(first, err))
				}
				r.Discard(length)
			}
		})
	}
	wg.Wait()
	return fmt.Sprint(time.Since(start).Nanoseconds())
}

// events returns the median time of an event on its way, in nanoseconds.
func (p peerLoad) events() string {
	var mu sync.Mutex
	var took []int64
	var wg sync.WaitGroup
	for range p.conns {
		wg.Go(func() {
			c, err := net.Dial("tcp", p.addr)
			if err != nil {
				panic(err)
			}
			defer c.Close()
			c.Write(p.request("GET", fmt.Sprint("/sse/", p.n), 0))
			r := bufio.NewReader(c)
			for line := ""; line != "0\r\n"; line, err = r.ReadString('\n') {
				if err != nil {
					panic(err)
				}
				if sent, ok := strings.CutPrefix(line, "data: "); ok {
					sent, _, _ = strings.Cut(sent, " ")
					at, _ := strconv.ParseInt(sent, 10, 64)
					mu.Lock()
					took = append(took, time.Now().UnixNano()-at)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	return fmt.Sprint(took[len(took)/2])
}

// idle opens the streams, each with its first event read, and keeps them.
func (p peerLoad) idle() string {
	for range p.conns {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			panic(err)
		}
		peerKept = append(peerKept, c)
		c.Write(p.request("GET", "/idle", 0))
		r := bufio.NewReader(c)
		for line := ""; !strings.HasPrefix(line, "data: "); line, err = r.ReadString('\n') {
			if err != nil {
				panic(err)
			}
		}
	}
	return "open"
}

var peerKept []net.Conn
