#!/bin/sh
# Installs the real Claude Code from npm into a cache outside the tree, once, for the scripts that use it.
# Prints the folder to put on PATH. Fails, with the reason, where npm cannot be reached.
set -eu
version=2.1.332
cache=${HOSTSHIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostshim}
dir=$cache/claude-code-$version
bin=$dir/node_modules/.bin
if ! "$bin/claude" --version >/dev/null 2>&1; then
	command -v npm >/dev/null || { echo 'real-client: npm is not installed' >&2; exit 1; }
	rm -rf "$dir" && mkdir -p "$dir"
	npm install --prefix "$dir" --no-audit --no-fund --loglevel=error "@anthropic-ai/claude-code@$version" >&2
	# Newer versions of npm leave a package's own set-up to the caller.
	"$bin/claude" --version >/dev/null 2>&1 || node "$dir/node_modules/@anthropic-ai/claude-code/install.cjs" >&2
	"$bin/claude" --version >/dev/null || { echo "real-client: $bin/claude does not start" >&2; rm -rf "$dir"; exit 1; }
fi
echo "$bin"
