package credential

import "strings"

// ValidAuth reports whether auth names a way to send a credential: bearer, x-api-key, x-goog-api-key or basic:<user>,
// where the user is 1 to 255 printable ASCII characters other than a blank and a colon.
func ValidAuth(auth string) bool {
	switch auth {
	case "bearer", "x-api-key", "x-goog-api-key":
		return true
	}
	user, ok := strings.CutPrefix(auth, "basic:")
	return ok && user != "" && len(user) <= 255 && !strings.ContainsFunc(user, func(c rune) bool { return c <= ' ' || c > '~' || c == ':' })
}
