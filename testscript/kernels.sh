#!/bin/sh
# Boots other kernels in a virtual machine, and runs there the scripts of what the kernel decides: kernels.sh [SUITE…].
# The kernels are Debian's for clouds, the newest of each suite; without a word oldest stable, stable and unstable. They are
# kept in a cache outside the tree, like the lists of packages: nothing is installed. qemu runs without acceleration, so a
# kernel takes some minutes.
set -eu
cd "$(dirname "$0")/.."
SCRIPTS=${SCRIPTS:-'s0[4-7]|s15-forward|s19|s20|t07-pipe|x0[12346789]|x1|b03|h11-doctor|u07'}
[ $# -gt 0 ] || set -- bookworm trixie sid
cache=${HOSTSHIM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostshim}/kernels
for tool in qemu-system-x86_64 busybox apt-get dpkg-deb; do
	command -v $tool >/dev/null || { echo "kernels: skipped: $tool is not installed (Debian: qemu-system-x86 busybox-static)"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# kernel SUITE: where that suite's newest kernel is.
kernel() {
	set +e
	dir=$cache/$1
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[.*\] \)*\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$dir/sources.list"
	apt="-qq -o Dir::Etc::SourceList=$dir/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$dir/lists
		-o Dir::Cache=$dir -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none"
	# shellcheck disable=SC2086
	apt-get $apt update >&2 || [ -n "$(find "$dir" -name 'vmlinuz*')" ] || return
	# The image is in a package of the one or the other name.
	# shellcheck disable=SC2086
	for package in $(apt-cache $apt depends --recurse -i linux-image-cloud-amd64 |
		grep -oE 'linux-(image|binary)-[0-9][^ ]*-cloud-amd64$' | sort -u); do
		[ ! -e "$dir/$package" ] || continue
		(cd "$dir/archives" && apt-get $apt download "$package" >&2) || return
		dpkg-deb --fsys-tarfile "$dir/archives/${package}"_*.deb |
			tar -x -C "$dir" --wildcards './boot/vmlinuz-*' './usr/lib/modules/*/vmlinuz' 2>/dev/null || : # one of the two is not there
		rm -f "$dir/archives/${package}"_*.deb
		touch "$dir/$package"
	done
	find "$dir" -name 'vmlinuz*' | sort -V | tail -n 1 | grep .
}

# userland makes the root file system: this machine's shell and small programs, ours, and the scripts.
userland() {
	root=$work/root
	mkdir -p "$root"/usr/bin "$root"/usr/sbin "$root"/usr/lib "$root"/usr/lib64 "$root"/etc "$root"/proc "$root"/sys "$root"/dev \
		"$root"/tmp "$root"/run "$root"/root "$root"/home "$root"/var "$root"/repo/testscript "$root"/built/bin "$root"/built/fakes
	for link in bin sbin lib lib64; do ln -s usr/$link "$root/$link"; done
	cp "$(command -v busybox)" "$root/usr/bin/busybox"
	for name in $PROGRAMS; do
		path=$(which "$name") || continue
		cp -L "$path" "$root/usr/bin/$name"
		for lib in $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*'); do
			[ -e "$root$lib" ] || { mkdir -p "$root$(dirname "$lib")" && cp -L "$lib" "$root$lib"; }
		done
	done
	printf 'root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
	CGO_ENABLED=0 ${GO:-go} build -trimpath -buildvcs=false -o "$root/built/bin/" ./cmd/host ./cmd/shim
	CGO_ENABLED=0 ${GO:-go} build -trimpath -buildvcs=false -o "$root/built/fakes/" ./testscript/fakes/...
	CGO_ENABLED=0 ${GO:-go} test -c -trimpath -o "$root/repo/testscript/testscript.test" ./testscript
	cp -r testscript/rules testscript/engine "$root/repo/testscript/"
	cp -r docs README.md "$root/repo/"
	init >"$root/init"
	chmod 755 "$root/init"
	chmod 1777 "$root/tmp"
	(cd "$root" && find . | busybox cpio -o -H newc -R 0:0 >"$work/initramfs") 2>/dev/null
}

# What the scripts call, as far as it is here.
PROGRAMS='sh bash setsid env cat ls cp mv rm rmdir mkdir chmod chown ln sleep true false head tail wc tr cut sort id touch dd stat
mkfifo date seq tee kill ps tty stty yes nohup timeout printf test [ uname readlink realpath dirname basename expr grep sed mawk awk
find xargs diff cmp mktemp truncate sha256sum od sync mount umount unshare prlimit script setpriv'

init() {
	cat <<-END
		#!/bin/busybox sh
		export PATH=/usr/bin:/bin HOME=/root HOSTSHIM_BUILT=/built
		busybox mount -t proc proc /proc
		busybox mount -t sysfs sysfs /sys
		busybox mount -t devtmpfs dev /dev
		mkdir -p /dev/pts /dev/shm
		busybox mount -t devpts -o ptmxmode=666 devpts /dev/pts
		busybox mount -t tmpfs -o mode=1777 shm /dev/shm
		busybox mount -t tmpfs -o mode=1777 tmp /tmp
		ln -sf /proc/self/fd /dev/fd
		ln -sf fd/0 /dev/stdin; ln -sf fd/1 /dev/stdout; ln -sf fd/2 /dev/stderr
		busybox ip link set lo up
		ulimit -c 0
		printf '%s' '$probe' >/built/fakes/probe
		chmod 755 /built/fakes/probe
		cd /repo/testscript
		./testscript.test -test.v -test.timeout 40m -test.parallel 3 -test.run '^TestRules\$/^($SCRIPTS)' >/tmp/out 2>&1 </dev/null
		status=\$?
		echo "@ Linux \$(uname -r): \$(/built/bin/host doctor 2>&1 | grep -o 'Landlock [0-9]*' | busybox head -n 1)"
		echo "@ \$(grep -c '^    --- PASS' /tmp/out) scripts pass, \$(grep -c '^    --- FAIL' /tmp/out) fail, \$(grep -c '^    --- SKIP' /tmp/out) skipped"
		grep '^    --- FAIL' /tmp/out | sed 's/^/@/'
		echo 0 >/proc/sys/user/max_user_namespaces
		for user in 0 1000; do
			home=/tmp/\$user && mkdir -p \$home/.config/relay && echo kernels >\$home/token
			echo '{"claude_token_file": "~/token"}' >\$home/.config/relay/settings.json
			chmod 600 \$home/token && chown -R \$user:\$user \$home && cd \$home
			/usr/bin/setpriv --reuid \$user --regid \$user --clear-groups env HOME=\$home /built/bin/host doctor 2>&1 |
				grep -A1 -i 'network' | sed "s/^/@ without user namespaces, uid \$user: /"
		done
		[ \$status = 0 ] || cat /tmp/out
		echo "@ end \$status"
		busybox poweroff -f
	END
}

probe=$(sed -n '/^const probe = `/,/^`/p' testscript/main_test.go | sed '1s/.*`//; /^`/d')
userland
failed=0
for suite; do
	image=$(kernel "$suite") || { echo "kernels: $suite: no kernel can be had: skipped"; continue; }
	qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 3G -nodefaults -no-reboot -display none -serial stdio -kernel "$image" \
		-initrd "$work/initramfs" -append 'console=ttyS0 quiet panic=-1 lsm=landlock,yama' </dev/null >"$cache/$suite.log" 2>&1
	sed -n 's/^@ \{0,1\}//p' "$cache/$suite.log" | tr -d '\r' | grep -v '^end'
	grep -q '^@ end 0' "$cache/$suite.log" || { failed=1; echo "kernels: $suite: see $cache/$suite.log"; }
done
exit $failed
