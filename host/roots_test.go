package host

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostshim/host/llmproxy"
	"hostshim/host/state"
)

// A provider behind a company's certificate is believed where a variable of the host's names that.
func TestX19UpstreamRoots(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer up.Close()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw}))
	for _, c := range []struct{ value, warned string }{
		{ca, ""},
		{"", "none"},
		{dir, "none"},
		{"ca.pem", "it is not an absolute path"},
		{dir + "/missing", "no such file or directory"},
		{write("text", []byte("text")), "it holds no certificate"},
		{write("large", make([]byte, maxNamedFile+1)), errTooLarge.Error()},
		{"/dev/shm/../shm/none", "no such file or directory"},
	} {
		for _, name := range certificateVars {
			t.Setenv(name, "")
		}
		t.Setenv("NODE_EXTRA_CA_CERTS", c.value)
		var warned []string
		b := NewBroker(state.Places{State: dir}, func(text string) { warned = append(warned, text) })
		roots := b.upstreamRoots()
		if said := strings.Join(warned, "\n"); c.warned != "" && c.warned != "none" && !strings.HasSuffix(said, c.warned) || (c.warned == "" || c.warned == "none") && said != "" {
			t.Errorf("%s: warned %q, want %q", c.value, said, c.warned)
		}
		client := http.Client{Transport: llmproxy.NewUpstream(roots)}
		resp, err := client.Get(up.URL)
		if (err == nil) != (c.warned == "") {
			t.Errorf("%s: the upstream is believed: %v", c.value, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}
