package credential

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestT07Pipe(t *testing.T) {
	content := bytes.Repeat([]byte{'t'}, 4096)
	for _, secret := range []Secret{NewSecret([]byte("t")), NewSecret(bytes.Clone(content))} {
		content := content[:len(secret.Reveal())]
		r, err := secret.Pipe()
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Fstat(int(r.Fd()), &st))
		if st.Mode&unix.S_IFMT != unix.S_IFIFO {
			t.Errorf("mode %o is no pipe's", st.Mode)
		}
		flags, err := unix.FcntlInt(r.Fd(), unix.F_GETFD, 0)
		must(t, err)
		if flags&unix.FD_CLOEXEC == 0 {
			t.Error("a program started meanwhile would inherit it")
		}
		if flags, err = unix.FcntlInt(r.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
			t.Errorf("the target's end does not block: %#x, %v", flags, err)
		}
		// Through its path, as Claude Code does, then once more: everything, then the end at once.
		again, err := os.Open("/dev/fd/" + strconv.Itoa(int(r.Fd())))
		must(t, err)
		got, err := io.ReadAll(again)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("read %d bytes, %v, want %d", len(got), err, len(content))
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("a second read got %d, %v", n, err)
		}
		again.Close()
		r.Close()
		// Each launch gets a pipe of its own, and the secret stays.
		r, err = secret.Pipe()
		must(t, err)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("the second pipe: read %d bytes, %v", len(got), err)
		}
		r.Close()
	}
}

func TestT07PipeRefuses(t *testing.T) {
	for want, s := range map[string]Secret{
		"empty":                  {},
		"larger than 4096 bytes": NewSecret([]byte(strings.Repeat("a", 4097))),
	} {
		r, err := s.Pipe()
		if r != nil || errText(err) != want {
			t.Errorf("got %v, %v, want %s", r, err, want)
		}
	}
}

func TestT07FullPipeIsAnErrorAndNoHang(t *testing.T) {
	r, w, err := newPipe()
	must(t, err)
	defer unix.Close(r)
	defer unix.Close(w)
	content := make([]byte, 4096)
	for range 1 << 10 {
		if err = fill(w, content); err != nil {
			break
		}
	}
	if err != unix.EAGAIN && err != unix.ENOBUFS {
		t.Errorf("a full pipe: %v", err)
	}
}
