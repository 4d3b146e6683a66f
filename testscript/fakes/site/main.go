// Site is a web server for names of a script's own, over TLS and plainly.
//
//	site [-ca FILE] [-plain ADDRESS]… [-tls ADDRESS]… [-raw ADDRESS] NAME…
//
// It makes a certificate authority, writes it to FILE, and serves with certificates for the names. Below the working
// directory's www it serves files as they are, in www/git repositories by git http-backend; /bytes/N is N bytes, /echo
// what came. It prints "ready: ADDRESS…", of TLS, then "request: NAME METHOD HOST PATH" for each request (NAME: of the
// ClientHello, "-" without TLS) and "connection: ADDRESS" for each connection to a raw address, which sends back what it
// gets.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	var plain, secure, raw, where []string
	list := func(to *[]string) func(string) error {
		return func(v string) error { *to = append(*to, v); return nil }
	}
	ca := flag.String("ca", "ca.pem", "")
	flag.Func("plain", "", list(&plain))
	flag.Func("tls", "", list(&secure))
	flag.Func("raw", "", list(&raw))
	flag.Parse()
	config := &tls.Config{Certificates: []tls.Certificate{certificate(*ca, flag.Args())}}
	server := &http.Server{Handler: handler(), ErrorLog: log.New(io.Discard, "", 0)}
	for _, address := range plain {
		go server.Serve(listen(address))
	}
	for _, address := range secure {
		l := listen(address)
		where = append(where, l.Addr().String())
		go server.Serve(tls.NewListener(l, config))
	}
	for _, address := range raw {
		go echo(listen(address))
	}
	fmt.Println("ready:", strings.Join(where, " "))
	select {}
}

func listen(address string) net.Listener {
	l, err := net.Listen("tcp", address)
	check(err)
	return l
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "site: error:", err)
		os.Exit(1)
	}
}

func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Println("connection:", l.Addr())
		go func() {
			io.Copy(c, c)
			c.Close()
		}()
	}
}

// certificate makes an authority, which it writes to path, and a certificate for the names.
func certificate(path string, names []string) tls.Certificate {
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a script's own authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, &signer.PublicKey, signer)
	check(err)
	check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}), 0o644))
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, signer)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der, root}, PrivateKey: key}
}

func handler() http.Handler {
	www, err := filepath.Abs("www")
	check(err)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(www)))
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		io.CopyN(w, zeros{}, n)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			fmt.Fprintf(w, "header: %s: %s\n", name, strings.Join(values, ", "))
		}
		io.Copy(w, r.Body)
	})
	if core, err := exec.Command("git", "--exec-path").Output(); err == nil {
		backend := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
		mux.Handle("/git/", &cgi.Handler{Path: backend, Root: "/git", Env: []string{"GIT_PROJECT_ROOT=" + www + "/git", "GIT_HTTP_EXPORT_ALL=1",
			"REMOTE_USER=pusher", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}, Stderr: os.Stderr})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "-"
		if r.TLS != nil {
			name = r.TLS.ServerName
		}
		fmt.Println("request:", name, r.Method, r.Host, r.URL.Path)
		mux.ServeHTTP(w, r)
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
