#!/bin/sh
# Measures the pair beside the best programs of their kind: bench.sh BIN [SECTION...], BIN being the folder with the
# stripped host and shim. Installs what it compares with where it can; what is missing is skipped, and named.
set -eu
bin=$1
shift
packages=
for pair in tini:tini dumb-init:dumb-init bwrap:bubblewrap nginx:nginx-light wrk:wrk socat:socat rg:ripgrep time:time; do
	PATH=$PATH:/usr/sbin command -v "${pair%%:*}" >/dev/null || packages="$packages ${pair#*:}"
done
if [ -n "$packages" ] && [ "${BENCH_INSTALL-yes}" = yes ]; then
	if ! command -v apt-get >/dev/null; then
		echo "bench: no apt-get here to install$packages with"
	elif [ "$(id -u)" != 0 ]; then
		echo "bench: to compare with more: sudo apt-get install$packages"
	else
		echo "bench: installing$packages"
		# One by one: a name that this system lacks must not cost the others. RUNLEVEL keeps a package from
		# starting its server. Without a network this gives up soon.
		quick='-o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10'
		export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive
		for p in $packages; do
			apt-get $quick install -y --no-install-recommends "$p" >/dev/null 2>&1 && continue
			[ -n "${updated-}" ] || timeout 60 apt-get $quick update >/dev/null 2>&1 || true
			updated=1
			apt-get $quick install -y --no-install-recommends "$p" >/dev/null 2>&1 || echo "bench: $p cannot be installed"
		done
	fi
fi
# The best-known sandbox, beside bubblewrap that it uses: it needs node, and socat and rg as well.
if [ ! -e "$bin/sandbox-runtime/node_modules" ] && [ "${BENCH_INSTALL-yes}" = yes ]; then
	if command -v npm >/dev/null; then
		echo "bench: installing @anthropic-ai/sandbox-runtime from npm"
		timeout 120 npm install --prefix "$bin/sandbox-runtime" --ignore-scripts --no-audit --no-fund @anthropic-ai/sandbox-runtime >/dev/null 2>&1 ||
			echo "bench: @anthropic-ai/sandbox-runtime cannot be installed"
	else
		echo "bench: to compare with more: npm install --prefix $bin/sandbox-runtime @anthropic-ai/sandbox-runtime"
	fi
fi
exec "$bin/bench" -bin "$bin" "$@"
