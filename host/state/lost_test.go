package state

import (
	"os"
	"path/filepath"
	"testing"

	"hostshim/host/wire"
)

func writeRecord(t *testing.T, p Places, text string) string {
	t.Helper()
	dir, err := p.Dir("sessions")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "one.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whenever a host is killed, its session has one launch row and, if that is ok, one end row after the clean-up.
func TestH09OneEndForEachLaunch(t *testing.T) {
	s := Session{SessionID: "one", Kind: wire.KindRun}
	launch, end, denied, other := s.Row(EventLaunch), s.Row(EventEnd), s.Row(EventLaunch), Session{SessionID: "two"}.Row(EventEnd)
	denied.Outcome = OutcomeDeny
	twice := denied
	twice.Error = wire.SessionExists + ": session \"one\" is running"
	const runs, owes = `{"shim_pid":999999998,"shim_start":"x","target_pid":999999999,"target_start":"x"}`, `{"end":{"event":"session_end","outcome":"ok","session_id":"one"}}`
	for name, c := range map[string]struct {
		before        []Row
		record        string // its further lines
		launches, end int
		started       bool // the launch row says so
	}{
		"nothing":                            {nil, "", 1, 0, false},
		"only its shim was known":            {nil, `{"shim_pid":999999998,"shim_start":"x"}`, 1, 0, false},
		"its target was known":               {nil, runs, 1, 1, true},
		"its target was known, and the rest": {[]Row{launch}, runs, 1, 1, true},
		"launched":                           {[]Row{launch}, "", 1, 1, true},
		"asked for twice":                    {[]Row{launch, twice, other}, "", 2, 1, true},
		"ended":                              {[]Row{other, launch, end}, runs, 1, 1, true},
		"owed":                               {[]Row{launch}, runs + owes, 1, 1, true},
		"owed, in another file":              {nil, runs + owes, 1, 1, true},
		"refused":                            {[]Row{denied}, "", 1, 0, false},
	} {
		p := Places{State: filepath.Join(t.TempDir(), "state")}
		for _, row := range []Row{launch, end} { // of an earlier session of the same id
			if err := p.Append(row); err != nil {
				t.Fatal(err)
			}
		}
		r, err := p.Claim(s)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(r.path)
		r.Release()
		writeRecord(t, p, string(text[:len(text)-2])+`,"host_start":"another"}`+"\n"+c.record)
		for _, row := range c.before {
			if err := p.Append(row); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			p.CleanUpLost(false, func(err error) { t.Error(err) })
		}
		launches, ends, started := -1, -1, -1
		f, err := os.Open(p.AuditFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := ReadRows(f, func(_ int64, _ []byte, r Row) error {
			switch {
			case r.SessionID == "one" && r.Event == EventLaunch:
				launches++
				if r.Outcome == OutcomeOK {
					started++
				}
			case r.SessionID == "one":
				ends++
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		f.Close()
		if launches != c.launches || ends != c.end || (started > 0) != c.started {
			t.Errorf("%s: %d launches (%d started) and %d ends, want %d (%v) and %d", name, launches, started, ends, c.launches, c.started, c.end)
		}
		if left, _ := filepath.Glob(p.State + "/sessions/*"); len(left) > 0 {
			t.Errorf("%s: left %s", name, left)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(`{"session_id":"one","temp":"/tmp/relay-1","host_pid":1}` + "\n" + `{"shim_pid":1,"target_pid":2}` + "\n" + `{"end":{"event":"session_end"}}`)
	f.Add("")
	f.Add(`{"session_id":"../..","served":true,"audit_at":-5}{`)
	f.Fuzz(func(t *testing.T, text string) {
		p := Places{State: filepath.Join(t.TempDir(), "state")}
		path := writeRecord(t, p, text)
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if g, err := readGrave(file); err == nil {
			p.rowsOf([]grave{g})
			if g.finished() != (g.end != nil) || g.session.Host <= 0 && g.hostLives() {
				t.Errorf("%+v", g)
			}
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add("{\"ts\":\"2026\"}\n\n{\"ts\":\"20")
	f.Add("\r\n{}\r\n[]\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "rows")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, _ := os.Open(path)
		defer file.Close()
		last := int64(-1)
		ReadRows(file, func(at int64, line []byte, _ Row) error {
			if at <= last || at+int64(len(line)) > int64(len(text)) || text[at:at+int64(len(line))] != string(line) {
				t.Errorf("%q is not at %d of %q", line, at, text)
			}
			last = at
			return nil
		})
	})
}
