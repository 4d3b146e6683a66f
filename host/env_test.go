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
		{"E02 no model key", envSpec{Template: vars{"K": "a${MODEL_KEY}b"}}, []string{"K=ab"}, nil},
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
			[]string{"PATH=/bin", "API_KEY=1", "TOKENS=1", "TOKEN_X=1", "LAWS_X=1", "AWS=1", fd + "=5", "ANTHROPIC_BASE_URL=http://127.0.0.1:1/sandbox"},
			gone("pairing", "OPENAI_API_KEY", "GH_TOKEN", "X_SECRET", "Y_SECRET_ACCESS_KEY", "DB_PASSWORD", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_REGION", "npm_token", "aws_x", "ANTHROPIC_API_KEY")},
		{"E03 passed through", envSpec{Base: []string{"GH_TOKEN=1", "AWS_REGION=1", "ANTHROPIC_API_KEY=1", "gh_token=1"}, Credential: wire.CredentialPairing,
			Passthrough: []string{"GH_TOKEN", "AWS_REGION", "ANTHROPIC_API_KEY"}}, []string{"GH_TOKEN=1", "AWS_REGION=1"}, gone("pairing", "ANTHROPIC_API_KEY", "gh_token")},
		{"E03 the host's own is no credential from elsewhere", envSpec{Template: vars{"X_TOKEN": "t"}, Own: []string{"X_TOKEN=own"}, Credential: wire.CredentialPairing},
			[]string{"X_TOKEN=own"}, gone("pairing", "X_TOKEN")},
		{"T10 the host's number wins", envSpec{Template: vars{fd: "9"}, Request: vars{fd: "8"}, Own: []string{fd + "=5"}, Credential: wire.CredentialToken}, []string{fd + "=5"}, nil},
		{"T10 a template's number passes", envSpec{Base: []string{fd + "=7"}, Template: vars{fd: "9"}}, []string{fd + "=9"}, nil},
	} {
		env, warnings, err := buildEnv(c.spec)
		if err != nil || !reflect.DeepEqual(env, c.want) || !reflect.DeepEqual(warnings, c.warnings) {
			t.Errorf("%s: got %q, %q, %v\nwant %q, %q", c.name, env, warnings, err, c.want, c.warnings)
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
		s := envSpec{Base: []string{base + "=" + value, "A=1"}, Template: vars{template: value}, Request: vars{request: value}, Passthrough: []string{passthrough},
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
