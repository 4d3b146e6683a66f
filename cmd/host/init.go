package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hostshim/host/credential"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/shim"
)

const initMore = `
Asks for the token that claude setup-token shows at its end, saves it beside the settings, and has the settings name it.
Nothing that is there is written over. At last host doctor tries the whole way, and its exit status is this one's.

example: claude setup-token; host init; host run --template claude-brokered
`

// setUp is what host init was asked for.
type setUp struct {
	tokenFile string // "": none was named
	stdin     bool
	imports   bool
	yes       bool
}

func initialize(args []string) int {
	f := newFlags("init")
	var want setUp
	f.more = initMore
	f.StringVar(&want.tokenFile, "token-file", "", "`FILE` that holds the token: its content is saved")
	f.BoolVar(&want.stdin, "token-stdin", false, "read the token from standard input")
	f.BoolVar(&want.imports, "import-claude", false, "bring settings, commands, skills, agents and MCP servers of ~/.claude, never credentials")
	f.BoolVar(&want.yes, "yes", false, "bring them without asking")
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	switch {
	case want.tokenFile != "" && want.stdin:
		return usageError("--token-file and --token-stdin exclude each other", called()+" init --help shows its usage")
	case want.yes && !want.imports:
		return usageError("--yes belongs to --import-claude", called()+" init --help shows its usage")
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	if err := want.configure(places); err != nil {
		return fail(err)
	}
	if want.imports {
		if code := importClaude(places, want.yes); code != 0 {
			return code
		}
	}
	fmt.Println()
	var same []string
	for name, value := range map[string]string{"settings": f.settings, "state-dir": f.state} {
		if value != "" {
			same = append(same, "--"+name, value)
		}
	}
	return runDoctor(same)
}

// configure sees to token and settings.
func (want *setUp) configure(p state.Places) error {
	set, there, err := loadIfThere(p)
	if err != nil {
		return err
	}
	token := filepath.Join(filepath.Dir(p.Settings), "token")
	if set.ClaudeTokenFile != "" {
		if token, err = credential.Expand("claude_token_file", set.ClaudeTokenFile); err != nil {
			return err
		}
	}
	if err := want.saveToken(token); err != nil {
		return err
	}
	switch {
	case set.ClaudeTokenFile != "":
		fmt.Printf("Settings: %s names the token's file already\n", oneLine(p.Settings))
	case there:
		// The file is its owner's, and may be relay's: it is never written (T01).
		text, err := json.Marshal(token)
		if err != nil {
			return err
		}
		fmt.Printf("Settings: %s is there, and is not written. Add this line to it, after its first {\n", oneLine(p.Settings))
		fmt.Printf("  \"claude_token_file\": %s,\n", text)
	default:
		text, err := json.MarshalIndent(map[string]string{"claude_token_file": token}, "", "  ")
		if err != nil {
			return err
		}
		if err := writeNew(p.Settings, append(text, '\n')); err != nil {
			return err
		}
		fmt.Printf("Settings: %s names it\n", oneLine(p.Settings))
	}
	return nil
}

// loadIfThere reads the settings, which init may be about to make.
func loadIfThere(p state.Places) (set *settings.Settings, there bool, err error) {
	if _, err := os.Lstat(p.Settings); errors.Is(err, fs.ErrNotExist) {
		return &settings.Settings{}, false, nil
	}
	set, warnings, err := settings.Load(p.Settings, true)
	for _, w := range warnings {
		warn(w)
	}
	return set, true, err
}

// saveToken writes the token where there is none.
func (want *setUp) saveToken(path string) error {
	_, err := os.Lstat(path)
	there := err == nil
	if there && want.tokenFile == "" && !want.stdin {
		fmt.Printf("Token: %s is there already\n", oneLine(path))
		return nil
	}
	token, err := want.token()
	if err != nil {
		return err
	}
	defer token.Wipe()
	if there {
		old, _, err := credential.Read("token", path)
		if err == nil && subtle.ConstantTimeCompare(old.Reveal(), token.Reveal()) == 1 {
			fmt.Printf("Token: %s has it already\n", oneLine(path))
			old.Wipe()
			return nil
		}
		old.Wipe()
		return fmt.Errorf("%s is there already, and is not written over: remove it first", path)
	}
	if err := writeNew(path, token.Reveal()); err != nil {
		return err
	}
	fmt.Printf("Token: saved in %s\n", oneLine(path))
	return nil
}

// token is the token, from where it was said to be.
func (want *setUp) token() (credential.Secret, error) {
	var text []byte
	var err error
	from := "the token"
	switch {
	case want.tokenFile != "":
		from = want.tokenFile
		var file *os.File
		if file, err = os.Open(want.tokenFile); err == nil {
			text, err = readToken(file)
			file.Close()
		}
	case want.stdin:
		text, err = readToken(os.Stdin)
	default:
		text, err = askToken()
	}
	if err != nil {
		return credential.Secret{}, err
	}
	token, err := credential.Parse(text)
	if err != nil {
		clear(text)
		return credential.Secret{}, fmt.Errorf("%s: %w", from, err)
	}
	return token, nil
}

// readToken reads no more than a token has.
func readToken(from io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(from, shim.MaxToken+1))
}

// writeNew writes a file of mode 0600 that is not there yet, and makes the folders that are missing above it, 0700.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(path) // half a token would look like one
	}
	return err
}

// answersYes asks a person. No terminal is no.
func answersYes(question string) bool {
	if !isTerminal(os.Stdin) {
		return false
	}
	fmt.Fprintf(os.Stderr, "%s [y/N] ", question)
	line := make([]byte, 0, 8)
	one := make([]byte, 1)
	for len(line) < cap(line) {
		if n, err := os.Stdin.Read(one); n == 0 || err != nil || one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	word := strings.ToLower(strings.TrimSpace(string(line)))
	return word == "y" || word == "yes"
}
