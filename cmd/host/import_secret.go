package main

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"hostshim/host"
)

// secretJSON says whether a JSON text holds what may be a credential: in a value, under a name, in an address, or as an
// argument such as --api-key=… or NAME=…. What is no JSON counts as one.
func secretJSON(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) != nil || secretIn(v)
}

func secretIn(v any) bool {
	switch v := v.(type) {
	case string:
		name, _, assigned := strings.Cut(v, "=")
		named := (assigned || strings.HasPrefix(v, "-")) && credentialName(strings.TrimLeft(name, "-"))
		return named || secretValue(v) || userInfo(v)
	case []any:
		return slices.ContainsFunc(v, secretIn)
	case map[string]any:
		for name, value := range v {
			if text, ok := value.(string); ok && text != "" && credentialName(name) || secretIn(value) {
				return true
			}
		}
	}
	return false
}

// credentialName says whether a name is one of a credential, in any of its spellings: API_KEY, api-key, apiKey.
func credentialName(name string) bool {
	lower := strings.ToLower(name)
	for _, end := range []string{"apikey", "token", "secret", "password", "passwd", "privatekey", "accesskey"} {
		if strings.HasSuffix(lower, end) {
			return true
		}
	}
	return host.UsualCredential(name)
}

// userInfo says whether a text holds an address with a password in it: scheme://user:password@host.
func userInfo(text string) bool {
	for _, part := range strings.Split(text, "://")[1:] {
		authority, _, _ := strings.Cut(part, "/")
		if at := strings.LastIndexByte(authority, '@'); at > 0 && strings.Contains(authority[:at], ":") {
			return true
		}
	}
	return false
}

// secretMarks begin tokens of well-known services, and keys.
var secretMarks = []string{"sk-ant-", "sk-proj-", "sk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza",
	"npm_", "hf_", "eyJhbGciOi", "PRIVATE KEY-----"}

// secretValue says whether a text holds what looks like a token: its mark, and more than a name behind it.
func secretValue(text string) bool {
	for _, mark := range secretMarks {
		for rest := text; ; {
			at := strings.Index(rest, mark)
			if at < 0 {
				break
			}
			rest = rest[at+len(mark):]
			run := len(rest) - len(strings.TrimLeftFunc(rest, tokenLetter))
			if run >= 10 || strings.HasSuffix(mark, "-----") {
				return true
			}
		}
	}
	lower := strings.ToLower(text)
	return strings.Contains(lower, "--token") || strings.Contains(lower, "--api-key") || strings.Contains(lower, "--password") ||
		strings.Contains(lower, "bearer ey") || strings.Contains(lower, "authorization: b")
}

func tokenLetter(c rune) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// credentialFile says whether a file's name is one that credentials have.
func credentialFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.Contains(base, "credential") && !strings.HasSuffix(base, ".md") || base == ".env" || strings.HasSuffix(base, ".pem") || strings.HasSuffix(base, ".key")
}
