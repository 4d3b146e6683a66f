package protect

import "strings"

// part is what a name in a folder means to a user's tools.
type part struct {
	name string // lower case; with slashes, below the folder
	kind partKind
	top  bool // only in a granted folder itself, which may be the home folder
}

type partKind uint8

const (
	aFile      partKind = iota // one file
	aTree                      // a folder, with all below
	aConfig                    // a git configuration file
	aGitFolder                 // .git: a folder, or a file that names one
)

// parts are what a user's tools run without being asked, or ask about once and then run.
var parts = []part{
	{name: ".git", kind: aGitFolder},
	{name: ".gitmodules"},
	{name: ".envrc"},
	{name: ".mcp.json"},
	{name: ".devcontainer.json"},
	{name: ".exrc"},
	{name: ".nvimrc"},
	{name: ".nvim.lua"},
	{name: ".vscode", kind: aTree},
	{name: ".idea", kind: aTree},
	{name: ".zed", kind: aTree},
	{name: ".devcontainer", kind: aTree},
	{name: ".husky", kind: aTree},
	{name: ".codex", kind: aTree},
	{name: ".cursor", kind: aTree},
	{name: ".gemini", kind: aTree},
	{name: ".qwen", kind: aTree},
	{name: ".opencode", kind: aTree},
	{name: "opencode.json"},
	{name: "opencode.jsonc"},
	{name: ".github/copilot", kind: aTree},
	{name: ".github/hooks", kind: aTree},
	{name: ".github/mcp.json"},
	{name: ".claude/commands", kind: aTree},
	{name: ".claude/agents", kind: aTree},
	{name: ".claude/hooks", kind: aTree},
	{name: ".claude/settings.json"},
	{name: ".claude/settings.local.json"},

	{name: ".gitconfig", kind: aConfig, top: true},
	{name: ".config/git/config", kind: aConfig, top: true},
	{name: ".config/fish", kind: aTree, top: true},
	{name: ".profile", top: true},
	{name: ".bashrc", top: true},
	{name: ".bash_profile", top: true},
	{name: ".bash_login", top: true},
	{name: ".bash_logout", top: true},
	{name: ".bash_aliases", top: true},
	{name: ".zshenv", top: true},
	{name: ".zprofile", top: true},
	{name: ".zshrc", top: true},
	{name: ".zlogin", top: true},
	{name: ".zlogout", top: true},
	{name: ".kshrc", top: true},
	{name: ".cshrc", top: true},
	{name: ".tcshrc", top: true},
	{name: ".login", top: true},
}

// firstNames are the first names of all parts, and whether a folder of that name is searched for more: most folders have
// none of them.
var firstNames = func() map[string]bool {
	names := make(map[string]bool, len(parts))
	for _, p := range parts {
		first, _, deeper := strings.Cut(p.name, "/")
		names[first] = names[first] || deeper
	}
	return names
}()

// programSections are the sections of git's configuration in which every key counts.
const programSections words = " alias browser credential difftool filter guitool hook include includeif instaweb man mergetool pager protocol sendemail trailer "

// programKeys are further keys that run a program, or move what git writes: section and name, without the subsection.
const programKeys words = " core.alternaterefscommand core.askpass core.editor core.fsmonitor core.gitproxy core.hookspath core.pager core.sshcommand " +
	"core.worktree diff.external diff.tool gpg.defaultkeycommand imap.tunnel init.templatedir interactive.difffilter merge.tool " +
	"remote.receivepack remote.uploadpack remote.vcs submodule.update "

// programEndings are how names of such keys end, in whatever section: git has new ones in each version, and tools around
// it have their own.
var programEndings = []string{"browser", "cmd", "command", "driver", "editor", "exec", "helper", "hook", "path", "program", "textconv", "transferagent"}

// words is a list with a blank before and after each word. A map would be made at every start of the program.
type words string

func (list words) has(word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(string(list), " "+word+" ")
}

// runsProgram says whether a key of git's configuration can make git run a program. Section and name are in lower case.
func runsProgram(section, name string) bool {
	if programSections.has(section) || programKeys.has(section+"."+name) {
		return true
	}
	for _, end := range programEndings {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
