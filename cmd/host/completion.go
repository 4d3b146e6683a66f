package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"hostshim/host/client"
	"hostshim/host/credential"
	"hostshim/host/settings"
	"hostshim/host/state"
)

// completeCommand is the hidden command that the completion scripts ask: its arguments are the words after the program's
// name up to the cursor, the last one begun or empty. It prints what could stand there, one a line.
const completeCommand = "__complete"

// completion prints a script for a shell, for the name that the program was called by.
func completion(args []string) int {
	f := newFlags("completion")
	if code, ok := f.parse(args, 1); !ok {
		return code
	}
	script, ok := completionScripts[f.Arg(0)]
	if !ok {
		return usageError(fmt.Sprintf("no completion for %q", f.Arg(0)), "known are bash, zsh and fish")
	}
	name := filepath.Base(os.Args[0])
	function := strings.Map(func(c rune) rune {
		if c == '-' || c == '.' {
			return '_'
		}
		return c
	}, name)
	fmt.Print(strings.NewReplacer("NAME", name, "FUNCTION", "_"+function).Replace(script))
	return 0
}

var completionScripts = map[string]string{
	"bash": `# Completion of NAME for bash.
FUNCTION() {
	local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]} i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		((i + 1 == COMP_CWORD)) && COMPREPLY=($(compgen -c -- "$word"))
		return
	done
	# A "=" is a word of its own here: what belongs together is put together, and the answer cut again.
	local words=("${COMP_WORDS[@]:1:COMP_CWORD}") before=''
	if ((COMP_CWORD > 2)) && [[ $word = = && ${COMP_WORDS[COMP_CWORD-1]} = -* ]]; then
		words=("${COMP_WORDS[@]:1:COMP_CWORD-2}" "${COMP_WORDS[COMP_CWORD-1]}=") before="${COMP_WORDS[COMP_CWORD-1]}="
	elif ((COMP_CWORD > 3)) && [[ ${COMP_WORDS[COMP_CWORD-1]} = = && ${COMP_WORDS[COMP_CWORD-2]} = -* ]]; then
		words=("${COMP_WORDS[@]:1:COMP_CWORD-3}" "${COMP_WORDS[COMP_CWORD-2]}=$word") before="${COMP_WORDS[COMP_CWORD-2]}="
	fi
	COMPREPLY=($("${COMP_WORDS[0]}" ` + completeCommand + ` "${words[@]}" 2>/dev/null))
	COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o default -F FUNCTION NAME
`,
	"zsh": `#compdef NAME
# Completion of NAME for zsh.
FUNCTION() {
	local -i dashes=${words[(i)--]}
	if ((dashes < CURRENT)); then
		words=("${(@)words[dashes+1,-1]}")
		((CURRENT -= dashes))
		_normal
		return
	fi
	local -a found
	found=("${(@f)$("$words[1]" ` + completeCommand + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$found" ]]; then
		compadd -a found
	else
		_files
	fi
}
if [ "$funcstack[1]" = FUNCTION ]; then
	FUNCTION "$@"
else
	compdef FUNCTION NAME
fi
`,
	"fish": `# Completion of NAME for fish.
function _FUNCTION_words
	set -l before (commandline -opc)
	set -l word (commandline -ct)
	if set -l dashes (contains -i -- -- $before)
		__fish_complete_subcommand --fcs-skip=$dashes
		return
	end
	set -l found ($before[1] ` + completeCommand + ` $before[2..] "$word" 2>/dev/null)
	if test -n "$found"
		printf '%s\n' $found
	else
		__fish_complete_path "$word"
	end
end
complete -c NAME -f -a '(_FUNCTION_words)'
`,
}

// complete prints candidates, and nothing where a file or folder belongs: the shell knows those.
func complete(words []string) int {
	if len(words) == 0 {
		words = []string{""}
	}
	// --flag=value: its candidates are those of a value after the flag, with the flag before them.
	before := ""
	last := words[len(words)-1]
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "-") {
		before = flag + "="
		words = append(slices.Clone(words[:len(words)-1]), flag, value)
	}
	for _, word := range candidates(words) {
		fmt.Println(before + word)
	}
	return 0
}

func candidates(words []string) []string {
	last, before := words[len(words)-1], words[:len(words)-1]
	var starting []string
	add := func(all []string) []string {
		for _, word := range all {
			if strings.HasPrefix(word, last) {
				starting = append(starting, word)
			}
		}
		return starting
	}
	if len(before) == 0 {
		for _, c := range commands() {
			add([]string{c.name})
		}
		return add([]string{"help"})
	}
	at := slices.IndexFunc(commands(), func(c command) bool { return c.name == before[0] })
	if at < 0 {
		return nil
	}
	switch previous := before[len(before)-1]; {
	case strings.TrimLeft(previous, "-") == "template" && previous != "template":
		return add(templateIDs(before))
	case strings.TrimLeft(previous, "-") == "credential" && previous != "credential":
		return add([]string{"auto", "token", "pairing", "none"})
	case strings.HasPrefix(last, "-"):
		return add(flagsOf(commands()[at]))
	}
	switch before[0] {
	case "attach", "log", "stop":
		return add(sessionNames(before))
	case "completion":
		return add([]string{"bash", "zsh", "fish"})
	case "session":
		return add([]string{"create", "list", "revoke"})
	case "llm-proxy":
		return add([]string{"session", "create", "list", "revoke"})
	}
	return nil
}

// flagsOf reads a command's flags off its own --help.
func flagsOf(c command) (all []string) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	stdout := os.Stdout
	os.Stdout = w
	go func() { c.run([]string{"--help"}); _ = w.Close() }()
	lines := bufio.NewScanner(io.LimitReader(r, 64<<10))
	for lines.Scan() {
		if flag, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "  "), " "); strings.HasPrefix(lines.Text(), "  -") {
			all = append(all, flag)
		}
	}
	os.Stdout = stdout
	return append(all, "--help")
}

// placesOf are the places that the words before the cursor name, else the usual ones.
func placesOf(words []string) (state.Places, error) {
	named := map[string]string{}
	for i, word := range words {
		name, value, ok := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !ok && i+1 < len(words) {
			value = words[i+1]
		}
		if strings.HasPrefix(word, "-") {
			named[name] = value
		}
	}
	return state.Find(named["settings"], named["state-dir"], "")
}

func templateIDs(words []string) (ids []string) {
	places, err := placesOf(words)
	if err != nil {
		return nil
	}
	set, _, err := settings.Load(places.Settings, places.Named)
	if err != nil {
		return nil
	}
	for _, t := range set.All() {
		ids = append(ids, t.ID)
	}
	return ids
}

// unfit is a character that a shell would act on, or a terminal.
func unfit(c rune) bool {
	return !unicode.IsPrint(c) || strings.ContainsRune(" \"'\\$`;&|<>()*?[]{}!#~=", c)
}

// sessionNames are the running host's sessions, by id and by name, without names that a shell would take apart.
func sessionNames(words []string) (all []string) {
	places, err := placesOf(words)
	if err != nil {
		return nil
	}
	c, err := client.New(places, credential.Secret{})
	if err != nil {
		return nil
	}
	sessions, err := c.Sessions()
	if err != nil {
		return nil
	}
	for _, s := range sessions {
		all = append(all, s.SessionID)
		if s.Name != "" && !strings.ContainsFunc(s.Name, unfit) {
			all = append(all, s.Name)
		}
	}
	return all
}
