package reach

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		entry string
		want  string // Host.String, with "below " before; "!" and the error's text
	}{
		{"example.com", "example.com:443"},
		{"EXAMPLE.com.", "example.com:443"},
		{"example.com:8443", "example.com:8443"},
		{"*.example.com", "below example.com:443"},
		{"*.example.com:80", "below example.com:80"},
		{"*.a.co.uk", "below a.co.uk:443"},
		{"gitea", "gitea:443"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example:443"},
		{"a_b.example.com", "a_b.example.com:443"},
		{"10.0.0.5", "10.0.0.5:443"},
		{"10.0.0.5:80", "10.0.0.5:80"},
		{"127.0.0.1:5432", "127.0.0.1:5432"},
		{"::1", "[::1]:443"},
		{"[::1]", "[::1]:443"},
		{"[2001:db8::1]:8443", "[2001:db8::1]:8443"},
		{"::ffff:10.0.0.5", "10.0.0.5:443"},
		{"", "!" + errEmpty.Error()},
		{"https://example.com", "!" + errScheme.Error()},
		{"example.com/path", "!" + errScheme.Error()},
		{"user@example.com", "!" + errScheme.Error()},
		{"example.com:", "!" + errScheme.Error()},
		{"*", "!" + errAll.Error()},
		{"*:8443", "!" + errAll.Error()},
		{"a.example.com,b.example.com", "!" + errMany.Error()},
		{"**.example.com", "!" + errStar.Error()},
		{"a.*.example.com", "!" + errStar.Error()},
		{"*example.com", "!" + errStar.Error()},
		{"*.*.example.com", "!" + errStar.Error()},
		{"*.10.0.0.5", "!" + errStar.Error()},
		{"*.com", "!" + errWide.Error()},
		{"*.co.uk", "!" + errWide.Error()},
		{"*.", "!" + errName.Error()},
		{"localhost:8080", "!" + errLoopback.Error()},
		{"a.localhost", "!" + errLoopback.Error()},
		{"bücher.example", "!" + errIDN.Error()},
		{"example.com:0", "!" + errPort.Error()},
		{"example.com:65536", "!" + errPort.Error()},
		{"example.com:+80", "!" + errPort.Error()},
		{"example.com:080", "!" + errPort.Error()},
		{"example.com:https", "!" + errPort.Error()},
		{"example..com", "!" + errName.Error()},
		{"-a.example.com", "!" + errName.Error()},
		{"exa mple.com", "!" + errName.Error()},
		{"example.com\n", "!" + errName.Error()},
		{"127.1", "!" + errName.Error()},
		{"0x7f.1", "!" + errName.Error()},
		{"2130706433", "!" + errName.Error()},
		{"0x7f000001", "!" + errName.Error()},
		{"a.0x7f", "!" + errName.Error()},
		{"fe80::1%eth0", "!" + errName.Error()},
		{"[10.0.0.5]", "!" + errName.Error()},
		{"[example.com]", "!" + errName.Error()},
		{"0.0.0.0", "!" + errAddress.Error()},
		{"224.0.0.1", "!" + errAddress.Error()},
		{"255.255.255.255", "!" + errAddress.Error()},
		{strings.Repeat("a", 64) + ".example.com", "!" + errName.Error()},
		{strings.Repeat("a.", 127) + "example.com", "!" + errName.Error()},
	} {
		p, err := ParsePattern(c.entry)
		got := p.String()
		if p.Below {
			got = "below " + got
		}
		if err != nil {
			got = "!" + err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.entry, got, c.want)
		}
	}
}

func TestAllow(t *testing.T) {
	hosts, err := ParseAll([]string{"example.com", "*.example.net", "example.org:8443", "10.0.0.5:80", "[::1]:443"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"example.com:443":           true,
		"Example.COM.:443":          true,
		"example.com:80":            false,
		"a.example.com:443":         false,
		"notexample.com:443":        false,
		"example.com.evil.test:443": false,
		"a.example.net:443":         true,
		"a.b.example.net:443":       true,
		"example.net:443":           false,
		"aexample.net:443":          false,
		"example.org:8443":          true,
		"example.org:443":           false,
		"10.0.0.5:80":               true,
		"[::ffff:10.0.0.5]:80":      true,
		"10.0.0.5:443":              false,
		"[::1]:443":                 true,
		"[0:0:0:0:0:0:0:1]:443":     true,
		"127.0.0.1:443":             false,
	} {
		h, err := ParseHost(text, 0)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := hosts.Allow(h); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "example.com", ":443", "example.com:", "user@example.com:443", "example.com :443", "example.com:443/",
		"example.com:443:443", "[example.com]:443", "010.0.0.5:80", "10.0.5:80", "0xa000005:80", "example.com..:443", "*.example.net:443",
		"[::1", "[::1%lo]:443", "exämple.com:443", "example.com\x00:443", strings.Repeat("a", 65536) + ":443"} {
		if h, err := ParseHost(text, 0); err == nil {
			t.Errorf("%.40q is taken for %v", text, h)
		}
	}
}

func TestClosed(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "169.254.169.254": true, "fe80::1": true,
		"0.0.0.0": true, "0.1.2.3": true, "::": true, "224.0.0.1": true, "ff02::1": true, "255.255.255.255": true,
		"64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true, "::127.0.0.1": true, "fd00:ec2::254": true, "100.100.100.200": true,
		"168.63.129.16": true, "192.0.0.192": true, "fe80::1%eth0": true,
		"fd00:ec2::23": true, "fd20:ce::254": true, "fd00:c1::a9fe:a9fe": true, "fd00:42::42": true, "64:ff9b:1::a9fe:a9fe": true, "::ffff:0:127.0.0.1": true,
		"10.9.9.1": false, "192.168.1.1": false, "93.184.216.34": false, "2001:db8::1": false, "fd00::1": false, "64:ff9b::808:808": false,
	} {
		if got := Closed(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if !Closed(netip.Addr{}) {
		t.Error("no address is open")
	}
}

// FuzzHosts: what is read is read the same again, and an entry covers what it names and nothing that differs.
func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"example.com", "*.example.com:80", "[::1]:443", "10.0.0.5", "::ffff:1.2.3.4", "*.co.uk", "a_b:1", "EXAMPLE.com."} {
		f.Add(seed, "www.example.com:443")
	}
	f.Fuzz(func(t *testing.T, entry, asked string) {
		p, err := ParsePattern(entry)
		if err == nil && !p.Below {
			again, err := ParsePattern(p.Entry())
			if err != nil || again != p {
				t.Fatalf("%q: %v, then %v, %v", entry, p, again, err)
			}
		}
		h, wrong := ParseHost(asked, 0)
		if err != nil || wrong != nil {
			return
		}
		if again, err := ParseHost(h.String(), 0); err != nil || again != h {
			t.Fatalf("%q: %v, then %v, %v", asked, h, again, err)
		}
		if (Hosts{p}).Allow(h) {
			if p.Port != h.Port || !p.Below && p.Host != h || p.Below && !strings.HasSuffix(h.Name, "."+p.Name) {
				t.Fatalf("%q covers %q", entry, asked)
			}
		}
	})
}
