#!/bin/sh
# What only a Mac can prove: each claim about its sandbox is tried, and a table says what held. docs/macos.md says what
# a row means that did not.
#
#	sh testscript/macos.sh [HOST]
#
# HOST is the installed host program, or bin/host. Everything happens in a folder of its own, with a token that is none;
# nothing of yours is read or changed. Exit status 0: every row that could be tried held.
set -u

here=$(cd "$(dirname "$0")/.." && pwd -P)
host=${1:-$here/bin/host}
sandbox_exec=${SANDBOX_EXEC:-/usr/bin/sandbox-exec}
work=$(cd "$(mktemp -d)" && pwd -P) || exit 1
trap 'rm -rf "$work"' EXIT
HOME=$work/home
export HOME
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME
config="$HOME/Library/Application Support/relay/settings.json"
token=$HOME/token
out=$work/out
bad=0

mkdir -p "$HOME/Library/Application Support/relay" "$HOME/.ssh" "$HOME/kept" "$HOME/project"
printf 'sk-ant-oat01-trial' >"$token"
printf 'key' >"$HOME/.ssh/id"
chmod 600 "$token"
cat >"$config" <<END
{"claude_token_file": "$token",
 "terminal_templates": [
  {"id": "wide", "command": "/bin/sh", "read_write": ["~"], "deny": ["~/kept/sesame.key"]}
]}
END
cd "$HOME/project" || exit 1

row() { printf '%-4s %-58s %s\n' "$1" "$2" "$3"; }

# try NUMBER CLAIM works|fails|TEXT WHERE COMMAND…: TEXT must stand in the output. WHERE is the template of the session
# that runs the command, or out, for none. Each command ends after 20 s.
try() {
	number=$1 claim=$2 want=$3 where=$4
	shift 4
	case $where in
	out) ;;
	*) set -- "$host" run --template "$where" -- "$@" ;;
	esac
	perl -e 'alarm 20; exec @ARGV or exit 127' -- "$@" >"$out" 2>&1 </dev/null
	status=$?
	case $want in
	works) [ "$status" -eq 0 ] ;;
	fails) [ "$status" -ne 0 ] ;;
	*) grep -q -- "$want" "$out" ;;
	esac && { row "$number" "$claim" held; return; }
	bad=1
	row "$number" "$claim" "BAD: status $status, $(head -c 120 "$out" | tr '\n' ' ')"
}

row no. claim result
for profile in "$here"/host/sandbox/testdata/*.sb; do
	try 1 "$(basename "$profile") compiles" works out "$sandbox_exec" -f "$profile" /usr/bin/true
done
try 1 "a session starts" works shell /usr/bin/true # else whatever must fail proves nothing

try 2 "launchd starts nothing for a session" fails shell /bin/launchctl submit -l relay.trial -- /usr/bin/touch "$HOME/project/escaped"
try 2 "LaunchServices opens nothing" fails shell /usr/bin/open -g -a TextEdit
try 2 "nothing was started" fails out test -e "$HOME/project/escaped"
try 2 "no Apple event leaves" fails shell /usr/bin/osascript -e 'tell application "Finder" to get name'
try 2 "a process outside cannot be signalled" fails shell /bin/kill -0 $$

try 3 "the token is closed inside a wider grant" fails wide /bin/cat "$token"
try 3 "by the data volume" fails wide /bin/cat "/System/Volumes/Data$token"
try 3 "by its resource fork" fails wide /bin/cat "$token/..namedfork/rsrc"
try 3 "by its number" fails wide /bin/cat "/.vol/$(stat -f '%d/%i' "$token" 2>/dev/null)"
try 3 "by a hard link" fails wide /bin/ln "$token" "$HOME/project/t"
try 3 "by a clone" fails wide /bin/cp -c "$token" "$HOME/project/t"
try 3 "by a renamed folder" fails wide /bin/mv "$HOME/Library" "$HOME/l"
try 3 "private places are closed" fails wide /bin/cat "$HOME/.ssh/id"

try 4 "a here-document of zsh" held shell /bin/zsh -fc 'cat <<X
held
X'
try 4 "the system's own temporary folder is the session's" relay- shell /usr/bin/getconf DARWIN_USER_TEMP_DIR

for program in node git bun; do
	path=$(command -v "/opt/homebrew/bin/$program" || command -v "/usr/local/bin/$program") || {
		row 5 "Homebrew's $program" "not installed"
		continue
	}
	try 5 "Homebrew's $program" works shell "$path" --version
done
try 5 "the system's git" 'git version' shell /usr/bin/git --version

try 6 "no host is reached in the model network" fails claude-brokered /usr/bin/curl -sS -m 5 https://example.com
try 6 "no name is looked up" fails claude-brokered /bin/sh -c 'dscacheutil -q host -a name example.com | grep address'
try 6 "no name is asked of mDNSResponder" fails claude-brokered /bin/sh -c 'dns-sd -t 3 -G v4 example.com | grep -E "[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+"'
try 6 "no page is opened" fails claude-brokered /usr/bin/open https://example.com

for name in sesame.key SESAME.KEY ſesame.key ſeſame.Key "sesame.$(printf '\342\204\252')ey"; do
	try 7 "a denied missing name, spelled $name" fails wide /usr/bin/touch "$HOME/kept/$name"
done
try 7 "other names can be made there" works wide /usr/bin/touch "$HOME/kept/other"

try 8 "ps runs" works shell /bin/ps
try 8 "sudo does not" fails shell /usr/bin/sudo -n true
try 8 "a neighbour's temporary files are closed" fails shell /bin/ls "$(dirname "$work")"
try 8 "a file can be cloned" works shell /bin/cp -c /usr/bin/true "$HOME/project/true"

if [ -x /usr/bin/expect ]; then
	cat >"$work/keys" <<END
set timeout 10
proc must {what} { expect \$what {} timeout { puts "no \$what"; exit 1 } eof { puts "end before \$what"; exit 1 } }
spawn /bin/zsh -fi
send "PROMPT='ready> '\r"
must "ready> "
send "$host run --template shell -- /bin/cat\r"
send "one\r"
must "one\r\none"
send "\032"
must "suspended"
send "fg\r"
send "two\r"
must "two\r\ntwo"
send "\003"
must "ready> "
send "echo status=\\\$?\r"
must "status=130"
END
	try 9 "^Z, fg and ^C at a terminal" works out /usr/bin/expect -f "$work/keys"
else
	row 9 "^Z, fg and ^C at a terminal" "no expect: by hand"
fi

if [ -n "${CLAUDE_TOKEN_FILE:-}" ] && command -v claude >/dev/null; then
	printf '{"claude_token_file": "%s"}' "$CLAUDE_TOKEN_FILE" >"$config"
	try 10 "Claude Code knows its token" '"loggedIn": true' out "$host" run -- claude auth status --json
	try 10 "Claude Code answers" works out "$host" run -- claude -p 'Say ready'
else
	row 10 "Claude Code" "set CLAUDE_TOKEN_FILE, with claude in PATH"
fi
exit "$bad"
