package doctor

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"hostshim/host"
	"hostshim/host/wire"
	"hostshim/shim"
)

// InsideModel is what a program in a sandbox with a network of its own found.
type InsideModel struct {
	Sum    string `json:"sha256"` // of what descriptor 5 gave
	Answer string `json:"answer"` // what the model proxy said to a request that presented it
	Other  string `json:"other"`  // what dialling another address gave
}

// doctorAnswer is what the throw-away model provider says.
const doctorAnswer = "doctor"

// provider is a model provider of the doctor's own, on loopback.
type provider struct {
	mu  sync.Mutex
	saw []string // SHA-256 of each credential that came with a model request
	url string
	end func() error
}

func newProvider() (*provider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{url: "http://" + l.Addr().String()}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		p.mu.Lock()
		p.saw = append(p.saw, fmt.Sprintf("%x", sha256.Sum256([]byte(token))))
		p.mu.Unlock()
		io.WriteString(w, doctorAnswer)
	})}
	p.end = web.Close
	go web.Serve(l)
	return p, nil
}

// seen is the one credential that came since the last look, "" for none, and "several" for more.
func (p *provider) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.saw = nil }()
	switch len(p.saw) {
	case 0:
		return ""
	case 1:
		return p.saw[0]
	}
	return "several"
}

// checkBroker tries a launch that holds a pairing in place of the token, in both networks.
func (d *doctor) checkBroker() {
	const cure = "host status says what stops a launch; the model proxy needs a free loopback port"
	p, err := newProvider()
	if err == nil {
		defer p.end()
		err = d.writeSettings(map[string]any{
			"llm_proxy": map[string]string{"upstream": p.url},
			"terminal_templates": []map[string]string{
				{"id": "doctor-none", "credential": wire.CredentialNone, "network": shim.NetworkNone},
				{"id": "doctor-open", "credential": wire.CredentialPairing},
				{"id": "doctor-model", "credential": wire.CredentialPairing, "network": shim.NetworkModel},
			},
		})
	}
	if err != nil {
		d.add("brokered", err, "", cure)
		return
	}
	d.brokered("brokered", "doctor-open", p, cure, "")
	if host.OwnNetworks {
		d.brokered(checkNetwork, "doctor-model", p, "the message names it; templates that ask for this network are refused until then", "refused")
		d.unconnected(p)
	}
}

// unconnected tries a launch without any network.
func (d *doctor) unconnected(p *provider) {
	const broken = "do not rely on \"network\": \"none\" on this machine, and report this"
	var found InsideModel
	out, err := d.try("doctor-none", wire.CredentialNone, insideWithin, append(slices.Clone(d.Inside), "none", p.url)...)
	if err == nil && json.Unmarshal(out, &found) != nil {
		err = fmt.Errorf("the target said %.200q", out)
	}
	if err != nil {
		d.add("no network", err, "", "the message names it; templates that ask for none are refused until then")
		return
	}
	d.judge("no network", broken, "nothing answers inside", []compare{{"dialling", found.Other, "refused"}})
}

// brokered is one round trip. With other set, dialling past the proxy must not work.
func (d *doctor) brokered(name, template string, p *provider, cure, other string) {
	var found InsideModel
	out, err := d.try(template, wire.CredentialAuto, insideWithin, append(slices.Clone(d.Inside), "model", p.url)...)
	if err == nil && json.Unmarshal(out, &found) != nil {
		err = fmt.Errorf("the target said %.200q", out)
	}
	if err != nil {
		d.add(name, err, "", cure)
		return
	}
	all := []compare{{"the model's answer", found.Answer, doctorAnswer}, {"SHA-256 at the provider", p.seen(), d.sum}}
	if other != "" {
		all = append(all, compare{"dialling past the proxy", found.Other, other})
	}
	if found.Sum == d.sum {
		all = append(all, compare{"descriptor 5", "the token", "a pairing"})
	}
	d.judge(name, "do not rely on brokered launches on this machine, and report this", "a pairing inside, the token at the provider", all)
}
