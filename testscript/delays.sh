#!/bin/sh
# Runs the scripts with system calls made slow, to find what is right only by luck of timing: delays.sh [SYSCALLS:WHEN=MICROSECONDS…]
# Left out: what a tracer, which strace is, makes impossible, and floods, in which a delay counts by the hundred. Needs strace, root, and three minutes for each.
set -eu
[ $# -gt 0 ] || set -- execve:delay_exit=20000 rt_sigaction:delay_enter=300 write:delay_exit=300 exit_group:delay_enter=20000 \
	wait4,waitid:delay_exit=10000 kill,tgkill,pidfd_send_signal:delay_exit=30000 connect,accept4:delay_exit=20000 \
	ioctl,setpgid,setsid:delay_exit=15000 prctl,unlinkat,mkdirat,renameat,flock,pidfd_open:delay_enter=10000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/scripts" ./testscript
cd testscript
failed=0
for delay; do
	echo "delays: $delay"
	strace -f -qq -o /dev/null -e trace="${delay%%:*}" -e inject="$delay" "$work/scripts" -test.run "${RUN:-TestRules}" \
		-test.skip '/(x08-user|x08-trapped|x08-processes|h15-flood|h15-inside)$' -test.parallel 6 || failed=1
done
exit $failed
