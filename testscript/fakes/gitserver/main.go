// Command gitserver plays a git host: git's own http-backend for the repositories below ROOT, on a free loopback port. It
// prints
//
//	ready: http://127.0.0.1:PORT
//	request: METHOD /path?query user=NAME password=sha256:… bytes=N[ gzip][ chunked] status=N
//
// one line a request. The password is in FILE, read for each request; any other gets 401. No password is printed.
//
//	gitserver -password FILE ROOT
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

var password = flag.String("password", "", "the file with the only password accepted")

func main() {
	flag.Parse()
	root, err := filepath.Abs(flag.Arg(0))
	if err == nil {
		err = serve(root)
	}
	fmt.Fprintln(os.Stderr, "gitserver: error:", err)
	os.Exit(1)
}

func serve(root string) error {
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return fmt.Errorf("git --exec-path: %w", err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"), Root: "/", Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0", "HOME=" + root}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ready: http://%s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &counted{ReadCloser: r.Body}
		r.Body = body
		answer := &noted{ResponseWriter: w, status: http.StatusOK}
		user, given, _ := r.BasicAuth()
		how := ""
		want, err := os.ReadFile(*password)
		if err != nil || given != strings.TrimSpace(string(want)) {
			answer.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			answer.WriteHeader(http.StatusUnauthorized)
		} else {
			r.Header.Del("Authorization") // a hook sees its server's environment
			if r.Header.Get("Content-Encoding") == "gzip" {
				how = " gzip"
			}
			if r.ContentLength < 0 {
				how += " chunked"
				r.TransferEncoding = nil // the pack comes chunked, which package cgi refuses and http-backend takes
			}
			backend.ServeHTTP(answer, r)
		}
		fmt.Printf("request: %s %s user=%s password=sha256:%x bytes=%d%s status=%d\n", r.Method, r.RequestURI, user, sha256.Sum256([]byte(given)), body.n.Load(), how, answer.status)
	}))
}

type counted struct {
	io.ReadCloser
	n atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n.Add(int64(n))
	return n, err
}

type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Flush() {
	if f, ok := n.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
