package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// refused is a launch identity that was not given or not confirmed: exit 78, the target never starts.
func refused(err error) error {
	return &failure{err: fmt.Errorf("identity: %w", err), exit: ExitRefused}
}

// readSecret reads the identity secret from descriptor 3, and closes the descriptor in every case (S09).
func (l *launch) readSecret() ([]byte, error) {
	if !l.options.identity {
		return nil, nil
	}
	if l.fds.identity < 0 {
		l.status.send(event{name: EventBadSecret})
		return nil, refused(errors.New("fd 3 is not open for reading"))
	}
	defer unix.Close(l.fds.identity)
	var secret []byte
	err := l.interruptible(func() (err error) {
		secret, err = readToEnd(l.fds.identity, SecretLen+1, SecretSeconds*time.Second)
		return err
	})
	if err == nil && !validSecret(secret) {
		clear(secret)
		err = fmt.Errorf("fd 3 does not hold %d lower-case hex characters", SecretLen)
	}
	switch {
	case err == nil:
		return secret, nil
	case err == errStopped:
		return nil, err
	}
	l.status.send(event{name: EventBadSecret})
	return nil, refused(err)
}

func validSecret(b []byte) bool {
	if len(b) != SecretLen {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// readToEnd reads fd to its end, at most limit bytes, within the given time.
func readToEnd(fd, limit int, within time.Duration) ([]byte, error) {
	deadline := time.Now().Add(within)
	buf := make([]byte, limit)
	for n := 0; ; {
		if n == limit {
			return buf, nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			clear(buf)
			return nil, fmt.Errorf("fd %d did not end within %v", fd, within)
		}
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if k, err := unix.Poll(ready, int(left.Milliseconds())+1); k <= 0 && (err == nil || err == unix.EINTR) {
			continue
		}
		switch k, err := unix.Read(fd, buf[n:]); {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			clear(buf)
			return nil, fmt.Errorf("fd %d: %w", fd, err)
		case k == 0:
			return buf[:n], nil
		default:
			n += k
		}
	}
}

// hello proves the identity to the bridge, or reports that there is none to prove (S10).
func (l *launch) hello(secret []byte) error {
	if !l.options.identity {
		l.status.send(event{name: EventNoIdentity, pid: os.Getpid()})
		return nil
	}
	err := l.interruptible(func() error {
		defer clear(secret)
		return sayHello(lookEnv(l.environ, EnvBridgeSocket), l.sessionID, secret)
	})
	switch {
	case err == nil:
		l.status.send(event{name: EventHelloOK, pid: os.Getpid()})
		return nil
	case err == errStopped:
		return err
	}
	l.status.send(event{name: EventHelloRefused})
	return refused(err)
}

// sayHello has one exchange with the bridge: one line there, one line back, no retry. It makes plain socket calls,
// because the net package would slow every launch and enlarge every session.
func sayHello(path, session string, secret []byte) error {
	if path == "" {
		return errors.New(EnvBridgeSocket + " is not set")
	}
	if len(path) >= len(unix.RawSockaddrUnix{}.Path) {
		return fmt.Errorf("%s %q is longer than a socket address", EnvBridgeSocket, path)
	}
	deadline := time.Now().Add(HelloSeconds * time.Second)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	unix.CloseOnExec(fd)
	defer unix.Close(fd)
	if err := connectWithin(fd, path, DialSeconds*time.Second); err != nil {
		return fmt.Errorf("bridge %q: %w", path, err)
	}
	if err := writeWithin(fd, helloLine(session, secret), deadline); err != nil {
		return fmt.Errorf("bridge %q: %w", path, err)
	}
	answer, err := readLine(fd, deadline)
	if err != nil {
		return fmt.Errorf("bridge %q: %w", path, err)
	}
	if err := checkAnswer(answer, session); err != nil {
		return fmt.Errorf("bridge %q: %w", path, err)
	}
	return nil
}

// helloLine is the shim's message. It is made on the heap, because its length is not a constant. A growing stack is
// copied, and nobody could wipe the old copy of a line on it (S21).
func helloLine(session string, secret []byte) []byte {
	const begin, middle, end = `{"type":"Hello","kind":"project_session","name":"`, `","token":"`, "\"}\n"
	line := make([]byte, 0, len(begin)+len(session)+len(middle)+len(secret)+len(end))
	line = append(append(append(line, begin...), session...), middle...)
	return append(append(line, secret...), end...)
}

// writeWithin writes line and wipes it.
func writeWithin(fd int, line []byte, deadline time.Time) error {
	defer clear(line)
	for rest := line; len(rest) > 0; {
		if err := setTimeout(fd, unix.SO_SNDTIMEO, time.Until(deadline)); err != nil {
			return err
		}
		n, err := unix.Write(fd, rest)
		if err != nil && err != unix.EINTR {
			return timeoutError(err)
		}
		rest = rest[max(n, 0):]
	}
	return nil
}

// connectWithin connects fd. A Unix socket makes the caller wait only while its backlog is full.
func connectWithin(fd int, path string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		if err := setTimeout(fd, unix.SO_SNDTIMEO, time.Until(deadline)); err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != unix.EINTR {
			return timeoutError(err)
		}
	}
}

// setTimeout bounds the next call on the socket. If no time is left, it returns the error that the call would return.
func setTimeout(fd, option int, left time.Duration) error {
	if left <= 0 {
		return timeoutError(unix.EAGAIN)
	}
	tv := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv)
}

func timeoutError(err error) error {
	if err == unix.EAGAIN {
		return errors.New("no answer in time")
	}
	return err
}

// readLine reads to the first newline: at most MaxAnswer bytes, the newline included.
func readLine(fd int, deadline time.Time) ([]byte, error) {
	var buf []byte
	chunk := make([]byte, 4096)
	for {
		if err := setTimeout(fd, unix.SO_RCVTIMEO, time.Until(deadline)); err != nil {
			return nil, err
		}
		n, err := unix.Read(fd, chunk)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, timeoutError(err)
		case n == 0:
			return nil, errors.New("closed before its answer ended")
		}
		buf = append(buf, chunk[:n]...)
		if i := bytes.IndexByte(buf, '\n'); i >= 0 && i < MaxAnswer {
			return buf[:i], nil
		}
		if len(buf) >= MaxAnswer {
			return nil, fmt.Errorf("answer is longer than %d bytes", MaxAnswer)
		}
	}
}

// checkAnswer accepts only the answer that confirms this session. It ignores unknown members. It looks members up by
// their exact names, because Unmarshal into a struct would take "TYPE" for "type".
func checkAnswer(line []byte, session string) error {
	var answer, data map[string]json.RawMessage
	var word, kind, id string
	var pid int
	if json.Unmarshal(line, &answer) != nil {
		return errors.New("answer is not a JSON object")
	}
	if json.Unmarshal(answer["type"], &word) != nil || word != "OK" {
		return errors.New("hello refused")
	}
	err := errors.Join(json.Unmarshal(answer["data"], &data), json.Unmarshal(data["kind"], &kind),
		json.Unmarshal(data["service_id"], &id), json.Unmarshal(data["relay_pid"], &pid))
	if err != nil || kind != "project_session" || id != session || pid <= 0 {
		return errors.New("answer is for another session")
	}
	return nil
}

// lookEnv is the last value of name in environ, which is the one that a program started with environ would see.
func lookEnv(environ []string, name string) (value string) {
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}
