package llmproxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hostshim/host/credential"
)

const fuzzPairing = "PAIRINGpairing_0123456789-abcdefghijklmnopq"

// parseHeader makes a header as net/http would, of lines "name: value".
func parseHeader(text string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && name != "" {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return h
}

// FuzzHeader: no credential and no pairing of the client's ever goes upstream, the proxy's credential always
// does, in one shape, and nothing that a Connection header says changes that.
func FuzzHeader(f *testing.F) {
	f.Add("Authorization: Bearer "+fuzzPairing+"\nConnection: authorization, anthropic-beta", "", realToken)
	f.Add("x-api-key: k\nCookie: a\nAPI-KEY: k\nX-Llm-Token: k\nproxy-authorization: k\nX-Goog-Api-Key: k", "x-goog-api-key", "sk-ant-api03-x")
	f.Add("X-A: "+fuzzPairing+"\nanthropic-beta: a\nanthropic-beta: oauth-2025-04-20", "bearer", realToken)
	f.Add("Connection: x-b\nConnection: , ,close\nX-B: 1\nTE: trailers\nX-"+fuzzPairing+": 1", "basic:git", "t")
	f.Fuzz(func(t *testing.T, text, auth, secret string) {
		in := parseHeader(text)
		valid := auth == "" || credential.ValidAuth(auth)
		var credential sent
		if ok := credential.shape(auth, []byte(secret)); ok != valid {
			t.Fatalf("%q: %v", auth, ok)
		} else if !ok {
			return
		}
		out := requestHeader(in, fuzzPairing, &credential)
		if got := out[credential.header]; len(got) != 1 || got[0] != credential.values[0] {
			t.Errorf("credential: %q", out)
		}
		own := map[string]bool{credential.header: true}
		if credential.oauth {
			own[betaHeader] = true
			if list := "," + strings.ReplaceAll(out.Get(betaHeader), " ", "") + ","; len(out[betaHeader]) != 1 || !strings.Contains(list, ","+oauthBeta+",") {
				t.Errorf("beta: %q", out[betaHeader])
			}
		}
		for name, values := range out {
			if stripped(name) && !own[name] {
				t.Errorf("%s goes upstream", name)
			}
			if holds(name, values, fuzzPairing) && !own[name] {
				t.Errorf("the pairing goes upstream in %q", name)
			}
		}
		for name := range connectionNames(in) {
			if values, kept := out[name]; kept && values != nil && !own[name] {
				t.Errorf("%s goes upstream, though Connection names it", name)
			}
		}
	})
}

func FuzzPresented(f *testing.F) {
	f.Add("Authorization: Bearer " + fuzzPairing)
	f.Add("Authorization: Basic eDo=\nApi-Key: a\nX-Goog-Api-Key: b")
	f.Add("Authorization: bearer  x\nX-Api-Key: y\nx-agentdesktop-pairing: z")
	f.Fuzz(func(t *testing.T, text string) {
		values := presented(nil, parseHeader(text))
		if len(values) > maxPresented {
			t.Errorf("%d values", len(values))
		}
		for _, v := range values {
			if !strings.Contains(text, v) && !strings.Contains(strings.ToLower(text), "basic") {
				t.Errorf("%q was not sent", v)
			}
		}
	})
}

func TestResponseHeader(t *testing.T) {
	in := parseHeader("Connection: x-named\nX-Named: 1\nX-Kept: a\nX-Kept: b\nTrailer: x\nUpgrade: h2c\nX-Echo: <" + realToken + ">\nX-" + realToken + ": 1")
	var credential sent
	credential.shape("basic:git", []byte(realToken))
	in.Set("X-Basic", "it was "+credential.values[0])
	out := http.Header{}
	responseHeader(out, in, &credential)
	if len(out) != 1 || fmt.Sprint(out["X-Kept"]) != "[a b]" {
		t.Errorf("%v", out)
	}
}

// Some servers read X_Api_Key as X-Api-Key.
func TestUnderscores(t *testing.T) {
	in := parseHeader("X_Api_Key: k\nx_goog_api_key: k\napi_KEY: k\nX-Api_Key: k\nProxy_Authorization: k\nX_Agentdesktop_Pairing: p\nContent_Length: 3\nTransfer_Encoding: chunked\nX_Kept: 1")
	var credential sent
	credential.shape("", []byte(realToken))
	out := requestHeader(in, fuzzPairing, &credential)
	if delete(out, "User-Agent"); len(out) != 3 || out["X_kept"] == nil || out.Get("Authorization") != "Bearer "+realToken {
		t.Errorf("%q", out)
	}
}

func TestInTarget(t *testing.T) {
	for _, c := range []struct {
		path, query string
		want        bool
	}{
		{"/a", "?b", false}, {"/" + fuzzPairing, "", true}, {"/a", "?x=" + fuzzPairing + "&y", true},
		{"/%50" + fuzzPairing[1:], "", true}, {"/a", "?%zz%50" + fuzzPairing[1:], true}, {"/" + fuzzPairing[1:], "?" + fuzzPairing[:42], false},
	} {
		if got := inTarget(c.path, c.query, fuzzPairing); got != c.want {
			t.Errorf("%s%s: %v", c.path, c.query, got)
		}
	}
	if inTarget("/", "", "") {
		t.Error("no pairing stands everywhere")
	}
}
