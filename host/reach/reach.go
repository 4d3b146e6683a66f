package reach

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// TLSPort is the port of an entry that names none, and the one where a tunnel must carry TLS (N03).
const TLSPort = 443

// Pattern is an entry of "hosts": a name, all names below one, or an address; always with a port.
type Pattern struct {
	Host
	Below bool // every name below Host.Name, at any depth, but not that name
}

// Host is one host and port, as written in an entry or asked for by a session.
type Host struct {
	Name string     // lower case, without a dot at the end; "" for an address
	Addr netip.Addr // of a literal address, an IPv4-mapped one as IPv4; else invalid
	Port uint16
}

// String is the host as an entry would name it, with its port in any case.
func (h Host) String() string {
	if h.Addr.IsValid() {
		return netip.AddrPortFrom(h.Addr, h.Port).String()
	}
	return h.Name + ":" + strconv.Itoa(int(h.Port))
}

// Entry is the shortest entry of "hosts" that covers the host.
func (h Host) Entry() string {
	text := h.String()
	if h.Port == TLSPort {
		text = strings.TrimSuffix(text, ":"+strconv.Itoa(TLSPort))
	}
	return text
}

// Hosts are the entries of a template.
type Hosts []Pattern

// Allow says whether an entry covers the host.
func (hosts Hosts) Allow(h Host) bool {
	return slices.ContainsFunc(hosts, func(p Pattern) bool {
		switch {
		case p.Port != h.Port:
			return false
		case p.Below:
			rest, ok := strings.CutSuffix(h.Name, "."+p.Name)
			return ok && rest != ""
		}
		return p.Host == h
	})
}

// ParseAll reads entries.
func ParseAll(entries []string) (hosts Hosts, err error) {
	for _, entry := range entries {
		p, err := ParsePattern(entry)
		if err != nil {
			return nil, fmt.Errorf("%.100q: %w", entry, err)
		}
		hosts = append(hosts, p)
	}
	return hosts, nil
}

// Why an entry is refused. Each text holds the cure, and nothing of the entry.
var (
	errMany     = errors.New("want one host, and the next by itself")
	errEmpty    = errors.New("want a host, as example.com")
	errScheme   = errors.New("want a host alone, as example.com or example.com:8443, without scheme, user and path")
	errAll      = errors.New(`"*" covers every host: name them, or use "network": "open"`)
	errStar     = errors.New(`"*." stands at the start alone, as in *.example.com`)
	errWide     = errors.New(`"*." before a public suffix covers everybody's hosts: name more of it, as *.example.com`)
	errLoopback = errors.New("names this machine: list the address and port that you mean, as 127.0.0.1:8080")
	errIDN      = errors.New("want ASCII: write such a name with xn--, as look-ups do")
	errName     = errors.New("neither a host's name nor an address")
	errAddress  = errors.New("no single host has this address")
	errPort     = errors.New("want a port from 1 to 65535")
)

// ParsePattern reads an entry of "hosts". complexity: one case a mistake, so that each has its cure.
func ParsePattern(entry string) (p Pattern, err error) {
	switch {
	case entry == "":
		return p, errEmpty
	case strings.ContainsAny(entry, "/@?#\\") || strings.HasSuffix(entry, ":"):
		return p, errScheme
	case strings.Contains(entry, ","):
		return p, errMany
	case entry == "*" || strings.HasPrefix(entry, "*:"):
		return p, errAll
	}
	rest, below := strings.CutPrefix(entry, "*.")
	if strings.Contains(rest, "*") {
		return p, errStar
	}
	p.Below = below
	if p.Host, err = parse(rest, TLSPort); err != nil {
		return Pattern{}, err
	}
	switch {
	case p.Name == "localhost" || strings.HasSuffix(p.Name, ".localhost"):
		return Pattern{}, errLoopback
	case below && p.Addr.IsValid():
		return Pattern{}, errStar
	case below && publicSuffix(p.Name):
		return Pattern{}, errWide
	case p.Addr.IsValid() && (p.Addr.IsUnspecified() || p.Addr.IsMulticast() || p.Addr == broadcast):
		return Pattern{}, errAddress
	}
	return p, nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// secondLevel are labels under which many countries' registries hand out names to everybody.
var secondLevel = []string{"ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "nom", "or", "org"}

// publicSuffix says whether everybody can have a name below this one. Of the names with two labels it knows the common
// form alone (co.uk): the whole list is long, and changes.
func publicSuffix(name string) bool {
	first, last, two := strings.Cut(name, ".")
	return !two || len(last) == 2 && slices.Contains(secondLevel, first)
}

// ParseHost reads what a session asks for: host:port, or a host alone if there is a usual port (0: there is none). The
// name may be in any case and may end in a dot. Nothing else is let pass: no space, user, path, or address in an unusual
// spelling.
func ParseHost(text string, usual uint16) (Host, error) { return parse(text, usual) }

func parse(text string, usual uint16) (h Host, err error) {
	name := text
	h.Port = usual
	// An IPv6 address without brackets has several colons, and no port.
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") && (strings.Count(text, ":") == 1 || text[0] == '[') {
		name = text[:i]
		if h.Port, err = parsePort(text[i+1:]); err != nil {
			return Host{}, err
		}
	}
	if h.Port == 0 {
		return Host{}, errPort
	}
	bracketed := strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]")
	if bracketed {
		name = name[1 : len(name)-1]
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		if addr.Zone() != "" || bracketed && !addr.Is6() {
			return Host{}, errName
		}
		h.Addr = addr.Unmap()
		return h, nil
	}
	if bracketed {
		return Host{}, errName
	}
	h.Name = strings.ToLower(strings.TrimSuffix(name, "."))
	return h, checkName(h.Name)
}

// parsePort reads a port, in plain decimal alone.
func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, errPort
	}
	return uint16(n), nil
}

// checkName accepts names as they are looked up: labels of letters, digits, - and _, in all 253 characters at most. A last
// label that looks like a number makes the whole an address, for some programs: 127.1 or 0x7f.1.
func checkName(name string) error {
	if len(name) > 253 {
		return errName
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return errName
		}
		for i := range len(label) {
			switch c := label[i]; {
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			case c >= 0x80:
				return errIDN
			default:
				return errName
			}
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		return errName
	}
	return nil
}
