package host

import (
	"os"
	"path/filepath"
	"testing"

	"hostshim/host/state"
)

// BenchmarkProvider: what each request of the model proxy pays for the settings and the token file as they are now
// (P09), beside what llmproxy's BenchmarkPost measures with a provider that reads nothing.
func BenchmarkProvider(b *testing.B) {
	dir := b.TempDir()
	token, settings := filepath.Join(dir, "token"), filepath.Join(dir, "settings.json")
	for path, text := range map[string]string{
		token:    "sk-ant-oat01-bench\n",
		settings: `{"claude_token_file": "` + token + `", "llm_proxy": {"upstream": "http://127.0.0.1:1"}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	broker := NewBroker(state.Places{Settings: settings, Named: true}, func(string) {})
	b.ReportAllocs()
	for b.Loop() {
		p, err := broker.provider("client", "")
		if err != nil {
			b.Fatal(err)
		}
		p.Credential.Wipe()
	}
}
