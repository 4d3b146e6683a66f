package shim

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// event is one status event (S11). Its line leaves out members that are zero.
type event struct {
	name                       string
	pid, errno, status, signal int
}

// line is one JSON object with its members in a fixed order. It is shorter than PIPE_BUF, so a pipe takes it whole or not
// at all.
func (e event) line(b []byte) []byte {
	b = append(b[:0], `{"event":"`...)
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

// status is the descriptor that events go to; -1: none.
type status struct {
	fd     int
	socket bool
}

// openStatus takes over fd for status events. It opens a pipe a second time, non-blocking, so that a reader who stops
// reading costs an event and not the session (S12). The first open file stays as it is: as 1 or 2 it is the target's too.
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

// send writes one event if the reader can take it now. Otherwise the event is lost, without an error.
func (s status) send(e event) {
	if s.fd < 0 {
		return
	}
	line := e.line(make([]byte, 96))
	if s.socket {
		unix.Sendto(s.fd, line, unix.MSG_DONTWAIT, nil)
		return
	}
	ready := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	for {
		if _, err := unix.Poll(ready, 0); err != unix.EINTR {
			break
		}
	}
	if ready[0].Revents&unix.POLLOUT != 0 {
		unix.Write(s.fd, line)
	}
}
