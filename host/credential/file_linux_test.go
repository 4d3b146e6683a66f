package credential

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// as runs f on a thread of another user's. The thread is never unlocked, so it ends with f.
func as(t *testing.T, uid int, f func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		if errno != 0 {
			done <- errno
			return
		}
		f()
		done <- nil
	}()
	must(t, <-done)
}

func TestT04PermissionDenied(t *testing.T) {
	dir := folderOf(t)
	write(t, dir+"/token", "tok", 0o000)
	must(t, os.Mkdir(dir+"/closed", 0o700))
	write(t, dir+"/closed/token", "tok", 0o644)
	uid := os.Geteuid()
	if uid == 0 {
		uid = 4711 // root may read everything
	} else {
		must(t, os.Chmod(dir+"/closed", 0))
		t.Cleanup(func() { os.Chmod(dir+"/closed", 0o700) })
	}
	as(t, uid, func() {
		check(t, dir+"/token", "", "", "permission denied")
		check(t, dir+"/closed/token", "", "", "permission denied")
	})
}

func TestT06AsAnOrdinaryUser(t *testing.T) {
	asRoot(t)
	const me, other = 4711, 4712
	dir := folderOf(t)
	for _, c := range []struct {
		name  string
		owner int
		mode  uint32
	}{{"mine", me, 0o600}, {"roots", 0, 0o644}, {"others", other, 0o644}} {
		write(t, dir+"/"+c.name, "tok", c.mode)
		must(t, os.Lchown(dir+"/"+c.name, c.owner, c.owner))
	}
	as(t, me, func() {
		check(t, dir+"/mine", "tok", "", "")
		check(t, dir+"/roots", "tok", "other users can read it (mode 0644)", "")
		check(t, dir+"/others", "", "", "other users can write it (owned by uid 4712)")
	})
}
