#!/bin/sh
# Runs every fuzz target for a while: fuzz.sh 5s
set -eu
for package in $(go list ./shim ./host/... ./cmd/...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-5s}" "$package"
	done
done
