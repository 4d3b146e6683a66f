package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hostshim/host"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/host/wire"
)

const whyMore = `
A word that is there, or holds a slash, is a path; any other, and a URL, is a HOST. The file's own permissions count beside the answer.

exit status: 0 it could; 1 it could not.

example: host why ~/.cargo/registry --template tests
`

func why(args []string) int {
	f := newFlags("why")
	f.more = whyMore
	r := &host.Request{SessionID: host.NewSessionID("why"), Kind: wire.KindRun, ByHand: true, Sandbox: true, Credential: wire.CredentialNone}
	var write, asJSON bool
	f.StringVar(&r.TemplateID, "template", "claude-code", "`ID` the session's template (default claude-code)")
	f.StringVar(&r.Directory, "dir", ".", "`DIR` where the session works (default: here)")
	f.BoolVar(&write, "write", false, "whether it could write, not only read")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	what := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") { // flags may stand behind it
		what, args = args[0], args[1:]
	}
	want := 0
	if what == "" {
		want = 1
	}
	if code, ok := f.parse(args, want); !ok {
		return code
	}
	if what == "" {
		what = f.Arg(0)
	}
	places, err := f.places("")
	if err == nil {
		r.Directory, err = filepath.Abs(r.Directory)
	}
	if err != nil {
		return fail(err)
	}
	quiet := func(string) {} // what a launch would warn of is no answer to the question
	preview, err := host.New(host.Config{Places: places, Environ: os.Environ(), Warn: quiet, Broker: host.NewBroker(places, quiet)}).Preview(r, host.Stdio{})
	if err != nil {
		return fail(err)
	}
	answer, isPath, err := answerFor(preview, what, write)
	if err != nil {
		return fail(fmt.Errorf("%q: %w", what, err))
	}
	if asJSON {
		if printJSON(answer); !answer.Could {
			return 1
		}
		return 0
	}
	showAnswer(answer, isPath, write)
	if !isPath && !strings.ContainsAny(what, ".:") {
		fmt.Printf("     taken for a host: ./%s asks about a file\n", plain(what))
	}
	if answer.Could {
		return 0
	}
	showChange(answer, preview.TemplateID, changeLine(places, preview.TemplateID, answer))
	return 1
}

// answerFor asks about a path or about a host.
func answerFor(v *host.Preview, what string, write bool) (a host.Answer, isPath bool, err error) {
	_, there := os.Lstat(what)
	if host := urlHost(what); there != nil && host != "" {
		a, err = v.WhyHost(host)
		return a, false, err
	}
	isPath = there == nil || strings.ContainsRune(what, '/') || what == "~" || strings.HasPrefix(what, ".")
	switch {
	case !isPath:
		a, err = v.WhyHost(what)
		return a, isPath, err
	case !v.Sandbox:
		return host.Answer{Path: what, Could: true, KeptOut: keptOut(what, write), By: "sessions of the template are not sandboxed"}, isPath, nil
	}
	if what != "~" && !strings.HasPrefix(what, "~/") {
		if what, err = filepath.Abs(what); err != nil {
			return a, isPath, err
		}
	}
	a, err = v.Why(what, write)
	a.KeptOut = a.Could && keptOut(a.Path, write)
	return a, isPath, err
}

// urlHost is the host and port of a URL, or of what git and scp take for one, user@host:path; "": word is neither.
func urlHost(word string) string {
	port := map[string]string{"http": "80", "ssh": "22", "git": "9418"}
	if u, err := url.Parse(word); err == nil && u.Scheme != "" && u.Host != "" {
		if p := port[u.Scheme]; p != "" && u.Port() == "" {
			return u.Host + ":" + p
		}
		return u.Host
	}
	user, rest, at := strings.Cut(word, "@")
	host, _, colon := strings.Cut(rest, ":")
	if !at || !colon || host == "" || strings.Contains(user+host, "/") {
		return ""
	}
	return host + ":" + port["ssh"]
}

func showAnswer(a host.Answer, isPath, write bool) {
	verb, yes, not := "be reached", "yes", "can"
	if isPath && write {
		verb = "be written"
	} else if isPath {
		verb = "be read"
	}
	if !a.Could {
		yes, not = "no", "cannot"
	}
	fmt.Printf("%s: %s %s %s: %s\n", yes, plain(a.Path), not, verb, oneLine(a.By))
	switch {
	case a.KeptOut:
		fmt.Println("     but its own permissions keep you out")
	case a.Missing:
		fmt.Println("     it is not there")
	}
}

// keptOut says whether the system refuses the path to this user, in a session or not.
func keptOut(path string, write bool) bool {
	mode := uint32(unix.R_OK)
	if write {
		mode = unix.W_OK
	}
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == unix.EACCES
}

// showChange prints what would open it: in the settings, and by a flag.
func showChange(a host.Answer, template, change string) {
	if change == "" {
		change = "nothing opens it"
	}
	fmt.Println("     " + foldedHere(oneLine(change), 5))
	flag := ""
	switch a.Key {
	case "read", "read_write":
		flag = host.Flag(a.Value, a.Key == "read_write")
	case "hosts":
		flag = "--allow-host " + a.Value
	default:
		return
	}
	if template != "claude-code" {
		flag = "--template " + template + " " + flag
	}
	fmt.Printf("     for one session: %s run %s\n", called(), oneLine(flag))
}

// changeLine is the line that would change the answer, and where it belongs; "": none would.
func changeLine(p state.Places, id string, a host.Answer) string {
	if a.Key == "" {
		return ""
	}
	value, _ := json.Marshal([]string{homeless(a.Value)}) // a text is always JSON
	line := fmt.Sprintf("%q: %s", a.Key, value)
	switch a.Key {
	case "deny":
		line = fmt.Sprintf("take %q out of \"deny\"", a.Value)
	case "protect":
		line = `"protect": false`
	}
	where := fmt.Sprintf("in template %q of %s", id, p.Settings)
	set, _, err := settings.Load(p.Settings, p.Named)
	if err == nil && set.BuiltIn(id) {
		where = fmt.Sprintf("in a template of your own in %s: %q is built in", p.Settings, id)
	}
	return "to change it: " + line + ", " + where
}

// homeless is a path as settings.json may have it: ~ for the home folder.
func homeless(path string) string {
	if rest, ok := strings.CutPrefix(path, host.HomeFolder()+"/"); ok {
		return "~/" + rest
	}
	return path
}
