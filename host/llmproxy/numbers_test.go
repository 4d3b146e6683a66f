package llmproxy

import (
	"testing"
	"time"
)

// P10: 30 s to connect, and as long for the TLS handshake; 600 s to the response's header.
func TestNumbersOfTheRules(t *testing.T) {
	up := NewUpstream(nil)
	if dialTimeout != 30*time.Second || up.TLSHandshakeTimeout != dialTimeout || up.ResponseHeaderTimeout != 600*time.Second {
		t.Errorf("%v, %v, %v", dialTimeout, up.TLSHandshakeTimeout, up.ResponseHeaderTimeout)
	}
}
