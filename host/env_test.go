package host

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostshim/host/credential"
	"hostshim/host/wire"
	"hostshim/shim"
)

type vars = map[string]string

func TestBuildEnv(t *testing.T) {
	const fd = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR"
	key := credential.NewSecret([]byte("mk"))
	gone := func(kind string, names ...string) (warnings []string) {
		for _, name := range names {
			warnings = append(warnings, `environment variable "`+name+`" dropped: the session gets a `+kind+` instead`)
		}
		return warnings
	}
	for _, c := range []struct {
		name     string
		spec     envSpec
		want     []string
		warnings []string
	}{
		{"nothing", envSpec{}, []string{}, nil},
		{"E01 base stays in order", envSpec{Base: []string{"Z=1", "A=2", "PATH=/bin:=x", "E="}}, []string{"Z=1", "A=2", "PATH=/bin:=x", "E="}, nil},
		{"E01 relay's credentials", envSpec{Base: []string{"RELAY_SERVICE_TOKEN=1", "RELAY_MCP_TOKEN=1", "RELAY_FRONTEND_TOKEN=1", "RELAY_LAUNCH_FD=1",
			"RELAY_PROJECT_TOKEN=1", "RELAY_TOKEN=1", "RELAY_LLM_TOKEN=1", "RELAY_LLM_HOOK_TOKEN=1", "RELAY_BRIDGE_SOCKET=/s", "RELAY_TOKENS=2"}},
			[]string{"RELAY_BRIDGE_SOCKET=/s", "RELAY_TOKENS=2"}, nil},
		{"E01 the parent session", envSpec{Base: []string{"CLAUDECODE=1", "CLAUDE_PID=1", "CLAUDE_EFFORT=1", "CLAUDE_CODE_=1", "CLAUDE_CODE_ENTRYPOINT=1", "CLAUDE_CODE_OAUTH_TOKEN=1",
			fd + "=9", "CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "CLAUDE_CODER=1", "claude_code_x=1"}},
			[]string{"CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "CLAUDE_CODER=1", "claude_code_x=1"}, nil},
		{"E01 what is no variable", envSpec{Base: []string{"", "=", "=x", "word"}}, []string{}, nil},
		{"E02 later wins, once, where it stood", envSpec{Base: []string{"A=base", "B=base", "C=base", "D=base", "A=base again"}, Template: vars{"B": "t", "C": "t", "D": "t", "N": "t"},
			Request: vars{"C": "r", "D": "r", "M": "r"}, Own: []string{"D=own", "TMPDIR=/t", "D=own again"}},
			[]string{"A=base again", "B=t", "C=r", "D=own again", "N=t", "M=r", "TMPDIR=/t"}, nil},
		{"E02 RELAY_ is the host's alone", envSpec{Template: vars{"RELAY_SESSION_ID": "t", "RELAY_": "t", "relay_x": "t"}, Request: vars{"RELAY_BRIDGE_SOCKET": "r", "RELAY": "r"},
			Own: []string{"RELAY_SESSION_ID=s"}}, []string{"relay_x=t", "RELAY=r", "RELAY_SESSION_ID=s"}, nil},
		{"E02 RELAY_ of a request leaves the base's alone", envSpec{Base: []string{"RELAY_BRIDGE_SOCKET=/s"}, Request: vars{"RELAY_BRIDGE_SOCKET": "/evil"}}, []string{"RELAY_BRIDGE_SOCKET=/s"}, nil},
		{"E02 model key", envSpec{Base: []string{"B=${MODEL_KEY}"}, Template: vars{"K": "a${MODEL_KEY}b${MODEL_KEY}"}, Request: vars{"R": "${MODEL_KEY}", "S": "$MODEL_KEY ${model_key}"},
			Own: []string{"O=${MODEL_KEY}"}, ModelKey: key}, []string{"B=${MODEL_KEY}", "K=amkbmk", "R=mk", "S=$MODEL_KEY ${model_key}", "O=${MODEL_KEY}"}, nil},
		{"E02 no model key, no variable", envSpec{Base: []string{"K=base"}, Template: vars{"K": "a${MODEL_KEY}b"}, Request: vars{"L": "${MODEL_KEY}"}}, []string{"K=base"}, nil},
		{"E02 a key that holds the mark", envSpec{Template: vars{"K": "${MODEL_KEY}"}, ModelKey: credential.NewSecret([]byte("x${MODEL_KEY}"))}, []string{"K=x${MODEL_KEY}"}, nil},
		{"E02 odd values", envSpec{Template: vars{"A": "=\n=", "a b": ""}}, []string{"A==\n=", "a b="}, nil},
		{"E03 no credential, nothing dropped", envSpec{Base: []string{"ANTHROPIC_API_KEY=1", "AWS_REGION=1"}, Template: vars{"CLAUDE_CODE_OAUTH_TOKEN": "1", fd: "9"}, Credential: wire.CredentialNone},
			[]string{"ANTHROPIC_API_KEY=1", "AWS_REGION=1", "CLAUDE_CODE_OAUTH_TOKEN=1", fd + "=9"}, nil},
		{"E03 token", envSpec{Base: []string{"ANTHROPIC_API_KEY=1", "GH_TOKEN=1", "AWS_REGION=1", "ANTHROPIC_MODEL=1"}, Credential: wire.CredentialToken,
			Template: vars{"ANTHROPIC_AUTH_TOKEN": "1", "CLAUDE_CODE_OAUTH_TOKEN": "1", "ANTHROPIC_API_KEY": "2"}, Request: vars{"CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR": "7", "X_API_KEY": "1"},
			Passthrough: []string{"ANTHROPIC_API_KEY"}, Own: []string{fd + "=5"}},
			[]string{"GH_TOKEN=1", "AWS_REGION=1", "ANTHROPIC_MODEL=1", "X_API_KEY=1", fd + "=5"},
			gone("token", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR")},
		{"E03 pairing", envSpec{Base: []string{"PATH=/bin", "OPENAI_API_KEY=1", "GH_TOKEN=1", "X_SECRET=1", "Y_SECRET_ACCESS_KEY=1", "DB_PASSWORD=1", "GOOGLE_APPLICATION_CREDENTIALS=1", "AWS_REGION=1",
			"npm_token=1", "aws_x=1", "ANTHROPIC_API_KEY=1", "API_KEY=1", "TOKENS=1", "TOKEN_X=1", "LAWS_X=1", "AWS=1"},
			Credential: wire.CredentialPairing, Own: []string{fd + "=5", "ANTHROPIC_BASE_URL=http://127.0.0.1:1/sandbox"}},
			[]string{"PATH=/bin", "TOKENS=1", "LAWS_X=1", "AWS=1", fd + "=5", "ANTHROPIC_BASE_URL=http://127.0.0.1:1/sandbox"},
			append(gone("pairing", "ANTHROPIC_API_KEY"), dropped("API_KEY, AWS_REGION, DB_PASSWORD, GH_TOKEN, GOOGLE_APPLICATION_CREDENTIALS, OPENAI_API_KEY, TOKEN_X, X_SECRET, Y_SECRET_ACCESS_KEY, aws_x, npm_token")...)},
		{"E03 passed through", envSpec{Base: []string{"GH_TOKEN=1", "AWS_REGION=1", "ANTHROPIC_API_KEY=1", "gh_token=1"}, Credential: wire.CredentialPairing,
			Passthrough: []string{"GH_TOKEN", "AWS_REGION", "ANTHROPIC_API_KEY"}}, []string{"GH_TOKEN=1", "AWS_REGION=1"}, append(gone("pairing", "ANTHROPIC_API_KEY"), dropped("gh_token")...)},
		{"E03 the host's own is no credential from elsewhere", envSpec{Base: []string{"X_TOKEN=b"}, Template: vars{"X_TOKEN": "t"}, Own: []string{"X_TOKEN=own"}, Credential: wire.CredentialPairing},
			[]string{"X_TOKEN=own"}, nil},
		{"E03 a template's own", envSpec{Base: []string{"X_TOKEN=b", "ANTHROPIC_API_KEY=b"}, Template: vars{"X_TOKEN": "t", "Y_KEY": "t", "Z_KEY": "t ${MODEL_KEY}", "ANTHROPIC_AUTH_TOKEN": "t"}, Request: vars{"Y_KEY": "r"},
			ModelKey: key, Credential: wire.CredentialPairing},
			[]string{"X_TOKEN=t"}, append(gone("pairing", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), dropped("Y_KEY, Z_KEY")...)},
		{"A02 the pairing itself", envSpec{Base: []string{"ANTHROPIC_API_KEY=b", "X_KEY=b"}, Template: vars{"ANTHROPIC_API_KEY": "${PAIRING}", "X_KEY": "${PAIRING}", "Y": "${BASE_URL}"}, Guarded: true, Credential: wire.CredentialPairing},
			[]string{"ANTHROPIC_API_KEY=${PAIRING}", "X_KEY=${PAIRING}", "Y=${BASE_URL}"}, dropped("X_KEY")},
		{"A02 the request's own key", envSpec{Template: vars{"ANTHROPIC_API_KEY": "${PAIRING}"}, Request: vars{"ANTHROPIC_API_KEY": "${PAIRING}"}, Credential: wire.CredentialPairing},
			[]string{}, gone("pairing", "ANTHROPIC_API_KEY")},
		{"E04 guarded", envSpec{Base: []string{"A=1", "GITHUB_PAT=1", "KEPT_SECRET=1", "PWD=/", "DB_PASS=1"}, Guarded: true, Passthrough: []string{"KEPT_SECRET"}},
			[]string{"A=1", "KEPT_SECRET=1", "PWD=/"}, dropped("DB_PASS, GITHUB_PAT")},
		{"E04 what was said for this launch passes", envSpec{Base: []string{"X_TOKEN=base"}, Template: vars{"X_TOKEN": "t"}, Request: vars{"Y_TOKEN": "r"}, Guarded: true},
			[]string{"X_TOKEN=t", "Y_TOKEN=r"}, dropped("X_TOKEN")},
		{"E04 beside a token each name is said once", envSpec{Base: []string{"ANTHROPIC_API_KEY=1", "X_TOKEN=1", "X_TOKEN=2"}, Credential: wire.CredentialToken, Guarded: true},
			[]string{}, append(gone("token", "ANTHROPIC_API_KEY"), dropped("X_TOKEN")...)},
		{"T10 the host's number wins", envSpec{Template: vars{fd: "9"}, Request: vars{fd: "8"}, Own: []string{fd + "=5"}, Credential: wire.CredentialToken}, []string{fd + "=5"}, nil},
		{"T10 a template's number passes", envSpec{Base: []string{fd + "=7"}, Template: vars{fd: "9"}}, []string{fd + "=9"}, nil},
	} {
		env, warnings, err := buildEnv(c.spec)
		if err != nil || !reflect.DeepEqual(env, c.want) || !reflect.DeepEqual(warnings, c.warnings) {
			t.Errorf("%s: got %q, %q, %v\nwant %q, %q", c.name, env, warnings, err, c.want, c.warnings)
		}
	}
}

// dropped is the line that names what looks like a credential.
func dropped(names string) []string {
	return []string{"environment variables dropped, as they look like credentials: " + names + `; to keep one: --keep-env NAME, or "env_passthrough" in the template`}
}

func TestE04Names(t *testing.T) {
	for _, name := range strings.Fields("PGPASSWORD MYSQL_PWD REDISCLI_AUTH DB_PASS PASSWORD TOKEN API_KEY GITHUB_PAT GH_TOKEN STRIPE_SECRET_KEY NPM_CONFIG__AUTH " +
		"DOCKER_AUTH_CONFIG KUBECONFIG SSH_AUTH_SOCK GPG_AGENT_INFO VAULT_TOKEN ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY AWS_PROFILE " +
		"OPENAI_API_KEY X_CREDENTIAL X_CREDENTIALS A_PASSWD_B PASSPHRASE github_token Npm_Config_//registry.npmjs.org/:_authToken") {
		if !UsualCredential(name) {
			t.Errorf("%s passes", name)
		}
	}
	for _, name := range strings.Fields("PATH HOME PWD OLDPWD TERM LANG EDITOR GPG_KEY GPG_TTY COLORTERM MAX_THINKING_TOKENS TOKENIZERS_PARALLELISM GIT_AUTHOR_NAME " +
		"KEYBOARD MONKEY PASSENGER_ENV PATTERN COMPATIBLE AUTHOR XAUTHORITY ANTHROPIC_BASE_URL ANTHROPIC_MODEL HTTPS_PROXY SSH_TTY SSH_ASKPASS NODE_EXTRA_CA_CERTS LAWS AWS") {
		if UsualCredential(name) {
			t.Errorf("%s is dropped", name)
		}
	}
}

func TestE05Elsewhere(t *testing.T) {
	const upstream = "https://gateway.example"
	for kv, want := range map[string]string{
		"ANTHROPIC_BASE_URL=":                              "",
		"ANTHROPIC_BASE_URL=https://api.anthropic.com":     "",
		"ANTHROPIC_BASE_URL=https://API.anthropic.com:443": "",
		"ANTHROPIC_BASE_URL=https://gateway.example/x":     "",
		"ANTHROPIC_BASE_URL=http://api.anthropic.com":      "ANTHROPIC_BASE_URL (http://api.anthropic.com)",
		"ANTHROPIC_BASE_URL=http://u:pw@127.0.0.1:1891/k":  "ANTHROPIC_BASE_URL (http://127.0.0.1:1891)",
		"ANTHROPIC_CUSTOM_HEADERS=x-api-key: k":            "ANTHROPIC_CUSTOM_HEADERS",
		"HTTPS_PROXY=http://proxy.example:3128":            "HTTPS_PROXY (http://proxy.example:3128)",
		"https_proxy=u:pw@proxy.example:3128":              "https_proxy (http://proxy.example:3128)",
		"ALL_PROXY=socks5://10.0.0.1:1080":                 "ALL_PROXY (socks5://10.0.0.1:1080)",
		"HTTPS_PROXY=https://proxy.example":                "",
		"HTTPS_PROXY=http://127.0.0.1:3128":                "",
		"HTTP_PROXY=http://[::1]:3128":                     "",
		"http_proxy=localhost:3128":                        "",
		"NO_PROXY=example.com":                             "",
		"no_proxy=10.0.0.1":                                "",
		"ANTHROPIC_MODEL=http://x":                         "",
	} {
		if got := strings.Join(elsewhere([]string{"A=1", kv}, upstream), "|"); got != want {
			t.Errorf("%s: %q, want %q", kv, got, want)
		}
	}
}

func TestE02Refusals(t *testing.T) {
	for _, c := range []struct {
		name string
		spec envSpec
		want string
	}{
		{"empty name", envSpec{Template: vars{"": "hush"}}, `environment variable "": the name is empty`},
		{"equals sign", envSpec{Request: vars{"A=B": "hush"}}, `environment variable "A=B": the name holds '=' or a NUL byte`},
		{"NUL in the name", envSpec{Request: vars{"A\x00": "hush"}}, `environment variable "A\x00": the name holds '=' or a NUL byte`},
		{"NUL in the value", envSpec{Template: vars{"A": "hush\x00"}}, `environment variable "A": the value holds a NUL byte`},
		{"NUL in the model key", envSpec{Template: vars{"A": "${MODEL_KEY}"}, ModelKey: credential.NewSecret([]byte("hush\x00"))}, `environment variable "A": the value holds a NUL byte`},
		{"in a name that would be dropped", envSpec{Request: vars{"RELAY_\x00": "hush"}}, `environment variable "RELAY_\x00": the name holds '=' or a NUL byte`},
		{"in a value that would be dropped", envSpec{Request: vars{"ANTHROPIC_API_KEY": "hush\x00"}, Credential: wire.CredentialToken}, `environment variable "ANTHROPIC_API_KEY": the value holds a NUL byte`},
		{"in a value that is overruled", envSpec{Template: vars{"A": "hush\x00"}, Request: vars{"A": "x"}}, `environment variable "A": the value holds a NUL byte`},
		{"of the host's own", envSpec{Own: []string{"A=hush\x00"}}, `environment variable "A": the value holds a NUL byte`},
	} {
		env, warnings, err := buildEnv(c.spec)
		if env != nil || warnings != nil || errorText(err) != c.want {
			t.Errorf("%s: got %q, %q, %v, want %s", c.name, env, warnings, err, c.want)
		}
	}
}

func TestBuildEnvChangesNoInput(t *testing.T) {
	base, own := []string{"A=1", "GH_TOKEN=1"}, []string{"B=1"}
	template := vars{"ANTHROPIC_API_KEY": "${MODEL_KEY}"}
	buildEnv(envSpec{Base: base, Own: own, Template: template, Credential: wire.CredentialPairing, ModelKey: credential.NewSecret([]byte("k"))})
	if base[0] != "A=1" || base[1] != "GH_TOKEN=1" || own[0] != "B=1" || template["ANTHROPIC_API_KEY"] != "${MODEL_KEY}" {
		t.Error("an input changed")
	}
}

func FuzzBuildEnv(f *testing.F) {
	for _, name := range append([]string{"", "A", "RELAY_X", "RELAY_TOKEN", "CLAUDECODE", "GH_TOKEN", "AWS_X", "x_password", "A=B", "A\x00"}, shim.AnthropicCredentials...) {
		f.Add(name, name, name, "${MODEL_KEY}", "A", uint8(len(name)))
	}
	f.Fuzz(func(t *testing.T, base, template, request, value, passthrough string, kind uint8) {
		const secret = "m-o-d-e-l"
		if strings.ContainsAny(base, "=\x00") {
			return // no environment that a process has holds such a name
		}
		s := envSpec{Base: []string{base + "=" + value, "A=1"}, Template: vars{template: value}, Request: vars{request: value}, Guarded: kind&4 != 0, Passthrough: []string{passthrough},
			ModelKey: credential.NewSecret([]byte(secret)), Own: []string{shim.EnvTokenFD + "=5", shim.EnvSessionID + "=s"},
			Credential: []string{wire.CredentialNone, wire.CredentialToken, wire.CredentialPairing}[kind%3]}
		env, warnings, err := buildEnv(s)
		if err != nil {
			if env != nil || warnings != nil || strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\x00\n") {
				t.Errorf("%q: %v", env, err)
			}
			return
		}
		seen := make(map[string]bool)
		for _, kv := range env {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || seen[name] || strings.Contains(name, "\x00") {
				t.Errorf("%q in %q", kv, env)
			}
			seen[name] = true
			if slices.Contains(relayCredentials, name) || name == "CLAUDECODE" && template != name && request != name {
				t.Errorf("%q survived", name)
			}
			if strings.HasPrefix(name, "RELAY_") && name != shim.EnvSessionID && !strings.HasPrefix(base, "RELAY_") {
				t.Errorf("%q came in", name)
			}
			anthropic := slices.Contains(shim.AnthropicCredentials, name)
			usual := strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_API_KEY") || strings.HasPrefix(name, "AWS_") || strings.HasSuffix(name, "_PASSWORD")
			if s.Credential != wire.CredentialNone && anthropic || s.Credential == wire.CredentialPairing && usual && name != passthrough {
				t.Errorf("%q survived beside a %s", name, s.Credential)
			}
		}
		if !slices.Contains(env, shim.EnvTokenFD+"=5") || !slices.Contains(env, shim.EnvSessionID+"=s") {
			t.Errorf("the host's own did not win: %q", env)
		}
		if joined := strings.Join(warnings, "\n"); strings.Contains(joined, secret) {
			t.Errorf("warnings %q", warnings)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
