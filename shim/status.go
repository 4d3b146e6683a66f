package shim

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// event is one status event (S11). Members that are zero are left out.
type event struct {
	name                       string
	pid, errno, status, signal int
}

// line is the event as it goes over the pipe: one JSON object, members in a fixed order, shorter than PIPE_BUF.
func (e event) line() []byte {
	b := append(make([]byte, 0, 96), `{"event":"`...)
	b = append(append(b, e.name...), '"')
	for _, m := range [...]struct {
		name  string
		value int
	}{{"pid", e.pid}, {"errno", e.errno}, {"status", e.status}, {"signal", e.signal}} {
		if m.value != 0 {
			b = append(append(append(b, `,"`...), m.name...), `":`...)
			b = strconv.AppendInt(b, int64(m.value), 10)
		}
	}
	return append(b, "}\n"...)
}

// status is where events go: nowhere when fd is -1.
type status struct {
	fd     int
	socket bool
}

// openStatus takes fd for status events. A pipe is opened anew, non-blocking: the flag belongs to the open file,
// which on 1 or 2 is the target's as well, and a reader that stopped must cost an event, not the session (S12).
func openStatus(fd int) status {
	s := status{fd: fd, socket: fileType(fd) == unix.S_IFSOCK}
	if fileType(fd) == unix.S_IFIFO {
		own, err := unix.Open("/dev/fd/"+strconv.Itoa(fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			s.fd = own
			if fd > 2 {
				unix.Close(fd)
			}
		}
	}
	if s.fd > 2 {
		unix.CloseOnExec(s.fd)
	}
	return s
}

// send writes one event if that needs no waiting. It never fails: a reader that is gone, or full, loses it.
func (s status) send(e event) {
	if s.fd < 0 {
		return
	}
	if s.socket {
		unix.Sendto(s.fd, e.line(), unix.MSG_DONTWAIT, nil)
		return
	}
	ready := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	for {
		if _, err := unix.Poll(ready, 0); err != unix.EINTR {
			break
		}
	}
	if ready[0].Revents&unix.POLLOUT != 0 {
		unix.Write(s.fd, e.line())
	}
}
