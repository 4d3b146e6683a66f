package sandbox

import (
	"strconv"

	"hostshim/shim"
)

// With (allow default) a session could ask others to act for it. These are the services that start programs outside
// of the sandbox, or pass messages to those that run there.
var darwinStarters = []string{
	"com.apple.coreservices.appleevents",
	"com.apple.coreservices.launchservicesd",
	"com.apple.coreservices.quarantine-resolver",
	"com.apple.xpc.smd",
}

// darwinServices are what a session without the open network may talk to. All other services are shut then: some
// look up names, fetch addresses or show pages for whoever asks, and (deny network*) does not reach them.
var darwinServices = []string{
	"com.apple.FSEvents",
	"com.apple.SystemConfiguration.configd",
	"com.apple.cfprefsd.agent",
	"com.apple.cfprefsd.daemon",
	"com.apple.logd",
	"com.apple.system.notification_center",
	"com.apple.system.opendirectoryd.libinfo",
	"com.apple.system.opendirectoryd.membership",
	"com.apple.trustd.agent",
}

// Programs that would gain rights are told by their mode, and the best known by name as well. Two that everybody
// uses may run: they are confined as whoever starts them.
var (
	darwinSetuid = []string{
		"/usr/bin/at", "/usr/bin/crontab", "/usr/bin/login", "/usr/bin/su", "/usr/bin/sudo", "/usr/libexec/security_authtrampoline",
	}
	darwinSetuidHarmless = []string{"/bin/ps", "/usr/bin/top"}
)

// waysOut closes what would start a program outside of the sandbox, or reach into one.
func (p *profile) waysOut() {
	p.text("\n; Nothing starts outside of this sandbox, and no process outside is signalled, traced or looked at.\n")
	p.rule("deny lsopen appleevent-send job-creation")
	p.rule("deny mach-lookup", p.each("global-name", darwinStarters)...)
	p.rule("deny mach-priv-task-port signal process-info*")
	p.rule("allow mach-priv-task-port signal process-info*", "(target same-sandbox)")
	p.text("; Programs that would gain rights.\n")
	p.rule("deny process-exec*", "(require-any (file-mode #o4000) (file-mode #o2000))")
	p.rule("allow process-exec*", p.each("literal", darwinSetuidHarmless)...)
	p.rule("deny process-exec*", p.each("literal", darwinSetuid)...)
}

// system opens what every session reads. It comes before the templates' grants, which may open again what
// is closed here.
func (p *profile) system(r *rules) {
	p.text("\n; Every session reads the system, Homebrew's programs and the command-line tools.\n")
	filters := p.each("literal", darwinLinks)
	filters = append(filters, p.each("literal", darwinFiles)...)
	filters = append(filters, p.each("subpath", darwinSubtrees())...)
	p.rule("allow "+readOps, append(filters, p.filter("subpath", r.tools))...)
	p.rule("deny "+writeOps, p.each("subpath", darwinClosed)...)
	p.rule("allow "+readOps, p.each("literal", darwinOpened())...)
}

// devices opens single nodes, and the terminals that were made inside this sandbox.
func (p *profile) devices() {
	p.text("\n; Every session's devices, and the terminals that it makes itself.\n")
	p.rule("allow file-read*", p.each("literal", []string{"/dev", "/dev/stderr", "/dev/stdin", "/dev/stdout"})...)
	filters := append(p.each("literal", darwinDevices), p.filter("subpath", "/dev/fd"))
	p.rule("allow file-read* file-write*", append(filters,
		`(require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))`)...)
}

// network closes all but the host's proxy (X09): one loopback port, where the session may reach that, and the sockets that
// a template names.
func (p *profile) network(r *rules) {
	if r.network == shim.NetworkOpen {
		return
	}
	var filters []string
	if what := "the sockets that the template grants"; r.network == shim.NetworkModel {
		p.text("\n; Of the network, the model proxy and " + what + ".\n")
		filters = append(filters, `(remote tcp "localhost:`+strconv.Itoa(r.port)+`")`)
	} else {
		p.text("\n; Of the network, " + what + ".\n")
	}
	p.rule("deny network*")
	for _, g := range r.grants {
		if g.kind == socket {
			filters = append(filters, "(remote unix-socket "+p.filter("subpath", g.real)+")")
		}
	}
	p.some("allow network-outbound", filters)
	p.text("; Of the system's services, none that could use the network for the session.\n")
	p.rule("deny mach-lookup")
	p.rule("allow mach-lookup", p.each("global-name", darwinServices)...)
}

// last closes what no template may open.
func (p *profile) last(r *rules) {
	p.text("\n; It decides which program /usr/bin/git runs, for every process of the user.\n")
	filters := []string{p.regex(beginning("/private/tmp/xcrun_db"))}
	if r.userTemp != "" {
		filters = append(filters, p.regex(beginning(r.userTemp+"/xcrun_db")))
	}
	p.rule("deny file-write*", filters...)
}
