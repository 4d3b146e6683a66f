#!/bin/sh
# Installs the real agents, and a node that knows proxies, from npm into a cache outside the tree, each once, for the scripts that use them, and prints the
# folders to put on PATH. One that cannot be had is named with the reason, and the exit status is 1; its scripts are skipped.
set -u
cache=${HOSTSHIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostshim}
command -v npm >/dev/null || { echo 'real-client: npm is not installed' >&2; exit 1; }

# starts says whether a program starts. What it leaves in a home folder goes with that.
starts() {
	home=$1/home && rm -rf "$home" && mkdir -p "$home" || return
	env -i HOME="$home" PATH="$PATH" "$1/node_modules/.bin/$2" --version >"$1/version" 2>&1 </dev/null
	status=$?
	rm -rf "$home"
	return $status
}

# install NAME VERSION PACKAGE COMMAND [SET-UP]
install() {
	dir=$cache/$1-$2
	[ -e "$dir/works" ] || starts "$dir" "$4" || {
		rm -rf "$dir" && mkdir -p "$dir"
		npm install --prefix "$dir" --no-audit --no-fund --loglevel=error "$3@$2" >&2 || return
		# Newer versions of npm leave a package's own set-up to the caller.
		starts "$dir" "$4" || { [ -n "${5-}" ] && node "$dir/node_modules/$3/$5" >&2 && starts "$dir" "$4"; } || {
			echo "real-client: $4 $2 does not start: $(tail -n 1 "$dir/version")" >&2
			return 1
		}
	}
	: >"$dir/works"
	echo "$dir/node_modules/.bin"
}

failed=0
while read -r agent; do
	# shellcheck disable=SC2086
	install $agent </dev/null || { echo "real-client: no ${agent%% *}: its scripts are skipped" >&2; failed=1; }
done <<'END'
claude-code 2.1.332 @anthropic-ai/claude-code claude install.cjs
codex 0.171.0 @openai/codex codex
opencode 1.18.33 opencode-ai opencode postinstall.mjs
gemini 0.61.0 @google/gemini-cli gemini
qwen 0.24.4 @qwen-code/qwen-code qwen
copilot 1.0.102 @github/copilot copilot
node 24.21.0 node node installArchSpecificPackage.js
END
exit $failed
