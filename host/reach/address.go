package reach

import (
	"net/netip"
	"slices"
)

// metadata are addresses at which clouds hand out a machine's credentials, beside the link-local ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),      // Amazon
	netip.MustParseAddr("100.100.100.200"),    // Alibaba
	netip.MustParseAddr("192.0.0.192"),        // Oracle
	netip.MustParseAddr("168.63.129.16"),      // Azure
	netip.MustParseAddr("fd00:ec2::23"),       // Amazon, for the identity of a pod
	netip.MustParseAddr("fd20:ce::254"),       // Google
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
	netip.MustParseAddr("fd00:42::42"),        // Scaleway
}

// Prefixes in which an IPv4 address stands at the end of an IPv6 one: a gateway, or the kernel, takes it out again.
var embedded = []netip.Prefix{
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/96"),
	netip.MustParsePrefix("::ffff:0:0:0/96"),
	netip.MustParsePrefix("::/96"),
}

// thisNetwork are addresses of which Linux takes some for its own.
var thisNetwork = netip.MustParsePrefix("0.0.0.0/8")

// Closed says whether no name may lead to the address (N03): this machine's loopback, its link, which has metadata
// services, and what is no single host. Only an entry that is this very address opens it. Private addresses are not
// among them: hosts of a company have those.
func Closed(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is6() && a.Zone() == "" && slices.ContainsFunc(embedded, func(p netip.Prefix) bool { return p.Contains(a) }) {
		b := a.As16()
		if inner := netip.AddrFrom4([4]byte(b[12:])); Closed(inner) {
			return true
		}
	}
	return !a.IsValid() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a == broadcast ||
		thisNetwork.Contains(a) || slices.Contains(metadata, a.WithZone(""))
}
