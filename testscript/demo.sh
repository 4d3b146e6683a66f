#!/bin/sh
# The main job on real input: a token goes from its file to a sandboxed target's descriptor 5, and nowhere else.
# Usage: demo.sh BIN, the folder with host and shim. Exit status 0 only if everything holds.
set -eu
bin=$(cd "${1:-bin}" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/hostshim-demo.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -m 700 "$dir/granted" "$dir/project"
umask 077
printf 'sk-ant-oat01-demo-%s\n' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$dir/granted/token"
echo 'other things in the same folder' >"$dir/granted/notes"
cat >"$dir/settings.json" <<EOF
{"claude_token_file": "$dir/granted/token",
 "terminal_templates": [{"id": "demo", "command": "/bin/sh", "read_write": ["$dir/granted"], "credential": "token"}]}
EOF
want=$(tr -d '\n' <"$dir/granted/token" | sha256sum | cut -d' ' -f1)

# The target reports what arrived. The token itself is read once, by sha256sum, from descriptor 5.
cat >"$dir/project/target.sh" <<'EOF'
printf 'fds='; find /proc/$$/fd -mindepth 1 -printf '%f '; echo
echo "variable=${CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR-}"
echo "hash=$(sha256sum <&5 | cut -d' ' -f1)"
echo "again=$(wc -c </dev/fd/5 | tr -d ' ')"
echo "environ=$(tr '\0' '\n' </proc/$$/environ | grep -c 'sk-ant-oat01-dem[o]' || true)"
echo "argv=$(tr '\0' '\n' </proc/$$/cmdline | grep -c 'sk-ant-oat01-dem[o]' || true)"
echo "file=$(cat "$1/token" 2>&1 || true)"
echo "notes=$(cat "$1/notes" 2>&1 || true)"
EOF
"$bin/host" run --settings "$dir/settings.json" --state-dir "$dir/state" --template demo --dir "$dir/project" \
	-- /bin/sh -c "$(cat "$dir/project/target.sh")" target "$dir/granted" >"$dir/report" 2>"$dir/warnings" || { cat "$dir/warnings" >&2; exit 1; }

failed=0
check() { # what, name in the report, how it must look
	got=$(sed -n "s|^$2=||p" "$dir/report")
	case $got in
	$3) printf 'ok    %s\n' "$1" ;;
	*) printf 'FAIL  %s: %s\n' "$1" "$got"; failed=1 ;;
	esac
}
check 'the token of the file arrived on descriptor 5' hash "$want"
check 'it can be read once' again 0
check 'the descriptor table is 0, 1, 2 and 5' fds '0 1 2 5 '
check 'the variable names the descriptor' variable 5
check 'no token in the environment' environ 0
check 'no token in the arguments' argv 0
check 'the token file is closed to the target' file '*Permission denied*'
check 'the rest of its folder is open' notes 'other things in the same folder'
if grep -rqs 'sk-ant-oat01-demo' "$dir/state" "$dir/report" "$dir/warnings"; then
	echo 'FAIL  the token was written somewhere'; failed=1
else
	echo 'ok    nothing that was written holds the token'
fi
exit $failed
