package host

import (
	"strings"

	"hostshim/host/credential"
	"hostshim/host/llmproxy"
	"hostshim/host/settings"
	"hostshim/host/wire"
)

// Pairing is the session's pairing as it is now, or was at its end; false: the session has none.
func (r *Running) Pairing() (llmproxy.Pairing, bool) {
	last := r.pairing.Load()
	if last == nil {
		return llmproxy.Pairing{}, false
	}
	if proxy, err := r.host.config.Broker.shared(); err == nil {
		if now, ok := proxy.Pairing(last.ID); ok {
			return now, true
		}
	}
	return *r.pairing.Load(), true // it may have ended meanwhile
}

// planFills refuses a template that wants a pairing in a launch that has none: the program would take a mark for its key
// (A02).
func (p *Plan) planFills(t settings.Template) error {
	for _, f := range t.Fills {
		brokered, served := p.Credential == wire.CredentialPairing, len(p.services) > 0
		switch {
		case f.Mark == settings.ServiceURLMark && !served:
			return invalid(`template %q uses %s, which only a sandboxed launch with services can fill in: give it "services"`, t.ID, f)
		case f.Mark == settings.PairingMark && served:
		case f.Mark != settings.ServiceURLMark && !brokered:
			return invalid(`template %q uses %s, which only a launch with a pairing can fill in: give it "credential": "pairing", or say --credential pairing`, t.ID, f)
		}
	}
	p.fills = t.Fills
	return nil
}

// fill puts the pairing and the proxy's address into the template's own texts: into no variable that the request set, and
// into no argument of another target than the template's command.
func (r *Running) fill(pairing credential.Secret, base string) {
	p := r.Plan
	marks := strings.NewReplacer(settings.PairingMark, string(pairing.Reveal()), settings.BaseURLMark, base, settings.ServiceURLMark, serviceURL(base))
	open := strings.NewReplacer(settings.BaseURLMark, base, settings.ServiceURLMark, serviceURL(base)) // where everybody can look
	for _, f := range p.fills {
		if _, other := p.request.Env[f.Name]; other || f.Name == "" {
			continue
		}
		for i, kv := range r.env {
			if strings.HasPrefix(kv, f.Name+"=") {
				r.env[i] = marks.Replace(kv)
			}
		}
	}
	for i := range p.ownArgs {
		p.argv[1+i] = open.Replace(p.argv[1+i])
	}
}
