#!/bin/sh
# Installs what `make build` built, or removes it: install.sh install|uninstall. From the environment: PREFIX, PROGRAM_PREFIX and
# DESTDIR, as in the Makefile; BIN is where the programs are; COMPLETE is the host to ask for completions, by default BIN's.
set -eu
umask 022

fail() {
	echo "install.sh: error: $1" >&2
	exit 2
}

# bash expands the ~ of `make install PREFIX=~/.local`, other shells do not.
case $PREFIX in
"~/"*) PREFIX=$HOME/${PREFIX#"~/"} ;;
esac
case $PREFIX in
/*) ;;
*) fail "PREFIX \"$PREFIX\" is not absolute" ;;
esac
root=$DESTDIR$PREFIX
man=$root/share/man/man1
bash=$root/share/bash-completion/completions
zsh=$root/share/zsh/site-functions
fish=$root/share/fish/vendor_completions.d
host=${PROGRAM_PREFIX}host

case $1 in
uninstall)
	for p in host shim; do
		rm -f "$root/bin/$PROGRAM_PREFIX$p" "$man/$PROGRAM_PREFIX$p.1"
	done
	rm -f "$bash/$host" "$zsh/_$host" "$fish/$host.fish"
	exit
	;;
install) ;;
*)
	echo "usage: install.sh install|uninstall" >&2
	exit 2
	;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for dir in "$root/bin" "$man" "$bash" "$zsh" "$fish"; do
	mkdir -p "$dir" && [ -w "$dir" ] || fail "no permission below $root: make install PREFIX=\$HOME/.local, or sudo"
done

# put FILE TARGET MODE: by rename, since macOS kills a program that was overwritten after it had run.
put() {
	cp "$1" "$2.new"
	chmod "$3" "$2.new"
	mv -f "$2.new" "$2"
}

for p in host shim; do
	put "$BIN/$p" "$root/bin/$PROGRAM_PREFIX$p" 755
	${GO:-go} run ./cmd/dist/man "docs/$p.1.md" "$PROGRAM_PREFIX" >"$work/$p.1"
	put "$work/$p.1" "$man/$PROGRAM_PREFIX$p.1" 644
done

# A completion is for the name that the host is called by.
ln -s "$(cd "$(dirname "${COMPLETE:-$BIN/host}")" && pwd)/$(basename "${COMPLETE:-$BIN/host}")" "$work/$host"
for shell in bash zsh fish; do
	"$work/$host" completion $shell >"$work/$shell"
done
put "$work/bash" "$bash/$host" 644
put "$work/zsh" "$zsh/_$host" 644
put "$work/fish" "$fish/$host.fish" 644

# A package's own installer says where things are.
[ -z "$DESTDIR" ] || exit 0
echo "installed: $root/bin/$host and $root/bin/${PROGRAM_PREFIX}shim, manual pages and completions below $root/share"
case :$PATH: in
*:"$root/bin":*) ;;
*) echo "for your shell's start-up file: export PATH=$root/bin:\$PATH" ;;
esac
case $root in
/usr | /usr/local) ;;
*) echo "zsh needs, before compinit: fpath=($root/share/zsh/site-functions \$fpath)" ;;
esac
