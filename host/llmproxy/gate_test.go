package llmproxy

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestP07LoopbackHost(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:1": true, "127.0.0.1:65535": true, "127.255.255.254": true, "127.1.2.3:80": true,
		"localhost": true, "LOCALHOST:80": true, "LocalHost.": true, "localhost.:80": true, "127.0.0.1.": true, "127.0.0.1.:80": true,
		"::1": true, "0:0:0:0:0:0:0:1": true, "[::1]": true, "[::1]:80": true, "[0:0:0:0:0:0:0:1]": true, "localhost:": true,

		"": false, ":80": false, "example.com": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
		"localhost..": false, "128.0.0.1": false, "0.0.0.0": false, "10.0.0.1": false, "127.1": false, "127.0.0.01": false,
		"2130706433": false, "0x7f.0.0.1": false, "::1:80": false, "::": false, "::2": false, "::1%lo": false, "::ffff:127.0.0.1": false, "[::1": false, "[::1]80": false, "[::1]:x": false, "[::2]": false, "[::]": false,
		"[::ffff:127.0.0.1]": false, "[::1%lo]": false, "[localhost]": false, "127.0.0.1:80:80": false, "127.0.0.1:abc": false,
		"127.0.0.1:123456": false, "user@127.0.0.1": false, "127.0.0.1/": false, " 127.0.0.1": false, "localhost\x00": false, "127.0.0.1,example.com": false,
		"[::1].": false, "..": false, ".": false,
	} {
		if got := loopbackHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"127.0.0.1:80", "[::1]:80", "localhost.", "LOCALHOST:1", "127.0.0.1.nip.io", "[::1%25lo]", "a@b:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !loopbackHost(host) {
			return
		}
		if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
			host = "[" + host + "]"
		}
		// What is accepted is a plain loopback name to package url as well.
		u, err := url.Parse("http://" + host + "/")
		if err != nil || u.Host != host || u.User != nil {
			t.Fatalf("%q: %v", host, err)
		}
		name := strings.TrimSuffix(u.Hostname(), ".")
		if addr, err := netip.ParseAddr(name); err == nil && addr.IsLoopback() || strings.EqualFold(name, "localhost") {
			return
		}
		t.Errorf("%q accepted, name %q", host, name)
	})
}

func TestP07Path(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/sandbox": true, "/sandbox/v1/messages": true, "//": true, "/a//b": true, "/a;b=c": true, "/a b": true,
		"/...": true, "/..a": true, "/a..": true, "/a..b/c": true, "/.": true, "/./a": true, "/....//": true,
		"/%2e": true, "/%2E%2E%2E": true, "/%252e%252e/": true, "/%252e%252e%252f": true, "/a%2Fb": true, "/a%5cb": true, "/%E2%82%AC": true,
		"/a%3b": true, "/a|b": true, "/a\"b": true, "/é": true, "/a;..": true, "/%20": true,

		"": false, "*": false, "http://127.0.0.1/sandbox": false, "a": false, "127.0.0.1:80": false,
		"/..": false, "/../": false, "/sandbox/..": false, "/sandbox/../v1": false, "/a/../b": false, "/a/..": false, "//..": false,
		"/%2e%2e": false, "/%2E./a": false, "/.%2e": false, "/a/%2e%2E/b": false, "/..%2fa": false, "/a%2f..": false, "/a%2F%2e%2e%2Fb": false,
		`/..\a`: false, `/a\..`: false, "/..%5ca": false, "/a%5C..": false, `/\..\`: false,
		"/..;": false, "/..;/a": false, "/..;x=y/a": false, "/%2e%2e%3b/": false,
		"/%": false, "/%2": false, "/%zz": false, "/%2g": false, "/a%": false, "/%%32e": false, "/%u002e": false,
		"/%00": false, "/a%00b": false, "/a\x00": false,
	} {
		if got := pathAllowed(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

func TestP07Route(t *testing.T) {
	for path, want := range map[string]struct{ sandbox, stray bool }{
		"/sandbox": {true, false}, "/sandbox/": {true, false}, "/sandbox//v1": {true, false}, "/sandbox/sandboxes": {true, false},
		"/": {}, "/v1/messages": {}, "/v1/sandbox": {}, "/sandbo": {}, "/a/sandbox": {}, "//": {}, "/%2f": {}, "/.": {}, "/./v1/sandbox": {}, "//v1": {},
		"//sandbox": {false, true}, "///sandbox/x": {false, true}, "/%2fsandbox/x": {false, true}, "/%2F%2FSandbox": {false, true},
		"//%73andbox": {false, true}, `/\sandbox`: {false, true}, "/%5csandbox": {false, true}, "/./sandbox": {false, true}, "//.//./sandboxes": {false, true},
		"/sandboxes": {false, true}, "/sandbox2/v1": {false, true}, "/Sandbox/v1": {false, true}, "/SANDBOX": {false, true},
		"/%73andbox/v1": {false, true}, "/sandbo%78": {false, true}, "/%53andbox": {false, true}, "/sandbox%2fv1": {false, true},
		"/sandbox%5cv1": {false, true}, `/sandbox\v1`: {false, true}, "/sandbox;x": {false, true}, "/sandbox.": {false, true},
		"/sandbox%20": {false, true}, "/sandbox%3f": {false, true},
	} {
		if onSandbox(path) != want.sandbox || onSession(path) != want.sandbox || strayRoute(path) != want.stray {
			t.Errorf("%q: sandbox %v, stray %v", path, onSandbox(path), strayRoute(path))
		}
	}
}

// A service's route is one only as it is spelled; what resembles it is no other route either.
func TestA04Route(t *testing.T) {
	for path, want := range map[string][2]string{
		"/service/git": {"git", ""}, "/service/git/": {"git", "/"}, "/service/git/a//b": {"git", "/a//b"}, "/service/a.b-c_1/x": {"a.b-c_1", "/x"},
		"/service/service/service": {"service", "/service"}, "/service/git/%2f": {"git", "/%2f"},
		"/service": {}, "/service/": {}, "/service//git": {}, "/service/Git/x": {}, "/service/%67it/x": {}, "/service/.git": {}, "/service/git%2fx": {},
		"/services/git": {}, "/Service/git": {}, "//service/git": {}, "/%2fservice/git": {}, "/serv%69ce/git": {}, "/./service/git/x": {}, `/\service`: {},
		"/service;/git": {}, "/service/git;x/y": {}, "/service/" + strings.Repeat("a", 65) + "/x": {},
	} {
		id, rest := serviceOf(path)
		if id != want[0] || rest != want[1] || onSession(path) != (id != "") || strayRoute(path) != (id == "") {
			t.Errorf("%q: %q %q, stray %v", path, id, rest, strayRoute(path))
		}
	}
}

// FuzzPath: nothing with a decoded .. segment, by package url's decoding and whichever slash, ever passes.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/sandbox/%2e%2e/a", "/a%2f..%5cb", "/%252e%252e", "/..;/", "/.../..", `/a\..\b`, "/%", "//a|b", "/a?b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, query := splitTarget(target)
		if path+query != target {
			t.Fatalf("%q was split into %q and %q", target, path, query)
		}
		if !pathAllowed(path) {
			return
		}
		decoded, err := url.PathUnescape(path)
		if err != nil {
			t.Fatalf("%q passed: %v", path, err)
		}
		for _, segment := range strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
			if segment == ".." || strings.HasPrefix(segment, "..;") {
				t.Errorf("%q passed", path)
			}
		}
		if strings.ContainsRune(decoded, 0) || !strings.HasPrefix(path, "/") {
			t.Errorf("%q passed", path)
		}
		var out url.URL
		if locate(&out, &url.URL{Scheme: "http", Host: "h"}, target) && out.RequestURI() != target {
			t.Errorf("%q goes out as %q", target, out.RequestURI())
		}
	})
}

func TestP07Order(t *testing.T) {
	// Each case is wrong in what it names and in everything that comes later.
	bad := func(change func(*http.Request)) *http.Request {
		r := &http.Request{Method: "OPTIONS", Host: "evil.example", Header: http.Header{
			"Origin": {"http://evil.example"}, "Upgrade": {"websocket"}}}
		change(r)
		return r
	}
	good := func(r *http.Request) { r.Host = "127.0.0.1:1" }
	for _, c := range []struct {
		name string
		r    *http.Request
		path string
		want *refusal
	}{
		{"host", bad(func(*http.Request) {}), "/../Sandbox", refuseHost},
		{"origin", bad(good), "/../Sandbox", refuseBrowser},
		{"empty origin", bad(func(r *http.Request) { good(r); r.Header["Origin"] = []string{""} }), "/..", refuseBrowser},
		{"connect", bad(func(r *http.Request) { good(r); delete(r.Header, "Origin"); r.Method = "CONNECT" }), "/..", refuseBrowser},
		{"options", bad(func(r *http.Request) { good(r); delete(r.Header, "Origin") }), "/..", refuseMethod},
		{"trace", bad(func(r *http.Request) { good(r); delete(r.Header, "Origin"); r.Method = "trace" }), "/..", refuseMethod},
		{"upgrade", bad(func(r *http.Request) { good(r); delete(r.Header, "Origin"); r.Method = "GET" }), "/..", refuseUpgrade},
		{"connection upgrade", &http.Request{Method: "GET", Host: "localhost", Header: http.Header{"Connection": {"close, UPGRADE"}}}, "/..", refuseUpgrade},
		{"path", &http.Request{Method: "GET", Host: "localhost"}, "/../Sandbox", refusePath},
		{"route", &http.Request{Method: "GET", Host: "localhost"}, "/Sandbox", refuseRoute},
		{"good", &http.Request{Method: "GET", Host: "localhost"}, "/sandbox", nil},
	} {
		if got := gate(c.r, c.path, false); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if gate(&http.Request{Method: "GET", Host: "localhost"}, "/v1", true) != refuseRoute {
		t.Error("a session's listener has another route")
	}
}
