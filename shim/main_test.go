package shim

import (
	"slices"
	"strings"
	"testing"
)

func TestParseOptions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "no target"},
		{"exec", "no target"},
		{"--", "no target"},
		{"-- /bin/true", ""},
		{"exec -pty -pass-token -- a b --pty", ""},
		{"--session-id=x --identity --status-fd 4 -- a", ""},
		{"a", "unexpected argument \"a\""},
		{"pass-token -- a", "unexpected argument"},
		{"--identity -- a", "--identity needs --session-id"},
		{"--session-id .x -- a", "not a session id"},
		{"--session-id= -- a", "not a session id"},
		{"--sandbox-profile x -- a", "not an absolute path"},
		{"--sandbox-profile= -- a", "not an absolute path"},
		{"--status-fd 0x4 -- a", "plain decimal"},
		{"--status-fd 1_0 -- a", "plain decimal"},
		{"--status-fd +4 -- a", "plain decimal"},
		{"--status-fd -1 -- a", "plain decimal"},
		{"--status-fd 04 -- a", "plain decimal"},
		{"--status-fd 2147483648 -- a", "plain decimal"},
		{"--status-fd= -- a", "plain decimal"},
		{"--status-fd 3 --identity --session-id x -- a", "fd 3 carries the identity"},
		{"--status-fd 5 --pass-token -- a", "fd 5 carries the token"},
		{"--pty --pty -- a", "given twice"},
		{"--pty --pty=false -- a", "given twice"},
		{"--nonsense -- a", "not defined"},
		{"--listener-fd 5 --sandbox-profile /p -- a", "fd 5 is taken"},
		{"--listener-fd 6 -- a", "needs --sandbox-profile"},
	} {
		_, err := parseOptions(strings.Fields(c.args))
		switch {
		case err == nil && c.want != "":
			t.Errorf("%q: no error, want %q", c.args, c.want)
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestPlainDecimal(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "4": 4, "2147483647": 1<<31 - 1} {
		if n, err := plainDecimal(s); err != nil || n != want {
			t.Errorf("plainDecimal(%q) = %d, %v", s, n, err)
		}
	}
}

func TestEventLine(t *testing.T) {
	for want, e := range map[string]event{
		`{"event":"started","pid":12}`:                          {name: EventStarted, pid: 12},
		`{"event":"exit"}`:                                      {name: EventExit},
		`{"event":"exit","status":3}`:                           {name: EventExit, status: 3},
		`{"event":"x","pid":1,"errno":2,"status":3,"signal":4}`: {"x", 1, 2, 3, 4},
		`{"event":"spawn_failed","errno":2}`:                    {name: EventSpawnFailed, errno: 2},
		`{"event":"exit","signal":15}`:                          {name: EventExit, signal: 15},
	} {
		if got := string(e.line(nil)); got != want+"\n" {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

func TestTargetEnv(t *testing.T) {
	l := &launch{options: &options{passToken: true}, environ: []string{"A=1", EnvTokenFD + "=9", EnvLaunchFD + "=3", "B", EnvTokenFD + "=7"}}
	if got, want := l.targetEnv(), []string{"A=1", "B", EnvTokenFD + "=5"}; !slices.Equal(got, want) {
		t.Errorf("with a token: %q, want %q", got, want)
	}
	l.options = &options{}
	if got, want := l.targetEnv(), []string{"A=1", EnvTokenFD + "=9", "B", EnvTokenFD + "=7"}; !slices.Equal(got, want) {
		t.Errorf("without: %q, want %q", got, want)
	}
}

func FuzzPlainDecimal(f *testing.F) {
	for _, s := range []string{"0", "4", "0x4", "1_0", "", "2147483648", "٤"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := plainDecimal(s)
		if err == nil && (n < 0 || strings.Trim(s, "0123456789") != "" || s == "") {
			t.Errorf("%q became %d", s, n)
		}
	})
}

func FuzzCheckAnswer(f *testing.F) {
	f.Add(`{"type":"OK","data":{"kind":"project_session","service_id":"s","relay_pid":1}}`, "s")
	f.Add(`{"type":"OK","data":{"kind":"project_session","service_id":"t","relay_pid":1}}`, "s")
	f.Add(`{"type":"Error"}`, "s")
	f.Fuzz(func(t *testing.T, line, id string) {
		if err := checkAnswer([]byte(line), id); err == nil && !strings.Contains(strings.ToLower(line), "project_session") && !strings.Contains(line, `\u`) {
			t.Errorf("accepted %q", line)
		}
	})
}
