#!/bin/sh
# Builds what is handed out: dist.sh DIR. Static programs for linux and darwin, amd64 and arm64, each as an archive that unpacks
# over a prefix such as /usr/local, Debian packages where dpkg-deb is there, and SHA256SUMS. The same source gives the same bytes.
set -eu
umask 022
GO=${GO:-go}
out=$1
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
tar --version 2>/dev/null | grep -q GNU || {
	echo "dist: error: GNU tar is missing: another one's archives differ from run to run" >&2
	exit 1
}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

build() { # OS ARCH DIR
	GOOS=$1 GOARCH=$2 $GO build -trimpath -buildvcs=false -ldflags '-s -w' -o "$3/" ./cmd/host ./cmd/shim
}
build "$($GO env GOHOSTOS)" "$($GO env GOHOSTARCH)" "$work/here"
version=$("$work/here/host" version | cut -d' ' -f2)

tree() { # OS ARCH DESTDIR PREFIX PROGRAM_PREFIX
	build "$1" "$2" "$work/$1-$2"
	DESTDIR=$3 PREFIX=$4 PROGRAM_PREFIX=$5 BIN=$work/$1-$2 COMPLETE=$work/here/host GO=$GO \
		GOOS='' GOARCH='' sh cmd/dist/install.sh install
}

for os in linux darwin; do
	for arch in amd64 arm64; do
		name=hostshim-$version-$os-$arch
		tree $os $arch "$work/$name" / ""
		mkdir -p "$work/$name/share/doc/hostshim"
		cp -R README.md docs "$work/$name/share/doc/hostshim/"
		tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
			gzip -n9 >"$out/$name.tar.gz"
	done
done

# Debian has another program called host, so that the package's are relay-host and relay-shim.
deb() { # ARCH
	root=$work/deb-$1
	tree linux "$1" "$root" /usr relay-
	mkdir -p "$root/DEBIAN" "$root/usr/share/doc/hostshim" "$root/usr/lib/systemd/user"
	cp -R README.md docs "$root/usr/share/doc/hostshim/"
	gzip -n9 "$root"/usr/share/man/man1/*.1
	sed 's|%h/.local/bin/host|/usr/bin/relay-host|' docs/examples/relay-host.service >"$root/usr/lib/systemd/user/relay-host.service"
	cat >"$root/DEBIAN/control" <<EOF
Package: hostshim
Version: $version
Architecture: $1
Maintainer: host and shim <hostshim@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Section: utils
Priority: optional
Description: start sandboxed coding agents, credential on a descriptor
 relay-host starts a coding agent in a sandbox and hands it its credential on
 a file descriptor: never in the environment, an argument, a log or a file
 that it can read. relay-shim is the agent's parent.
EOF
	(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/hostshim_${version}_$1.deb" >/dev/null
}
if command -v dpkg-deb >/dev/null; then
	deb amd64
	deb arm64
else
	echo "dist: no Debian packages: dpkg-deb is missing" >&2
fi

cd "$out"
sha256sum ./* | sed 's|\./||' >"$work/sums"
mv "$work/sums" SHA256SUMS
