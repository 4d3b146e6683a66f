package credential

import (
	"strings"
	"testing"
)

func TestA01ValidAuth(t *testing.T) {
	for auth, want := range map[string]bool{
		"bearer": true, "x-api-key": true, "x-goog-api-key": true, "basic:u": true, "basic:oauth2@x-y_z": true,
		"": false, "Bearer": false, "basic": false, "basic:": false, "basic:a:b": false, "basic:a b": false, "basic:a\r\nX: y": false, "basic:é": false,
		"cookie": false, "authorization": false, "basic:" + strings.Repeat("u", 255): true, "basic:" + strings.Repeat("u", 256): false,
	} {
		if got := ValidAuth(auth); got != want {
			t.Errorf("%q: %v", auth, got)
		}
	}
}
