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

// identityError is a launch identity that was not given, or not believed: exit 78, target never started.
type identityError struct{ err error }

func (e *identityError) Error() string { return "identity: " + e.err.Error() }

// readSecret reads the identity secret from descriptor 3 and closes it, whatever comes (S09).
func (l *launch) readSecret() ([]byte, error) {
	if !l.options.identity {
		return nil, nil
	}
	if l.fds.identity < 0 {
		l.status.send(event{name: EventBadSecret})
		return nil, &identityError{errors.New("fd 3 is not open for reading")}
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
	if err == nil {
		return secret, nil
	}
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		return nil, err
	}
	l.status.send(event{name: EventBadSecret})
	return nil, &identityError{err}
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

// readToEnd reads fd until its end, limit bytes at most, within the time given.
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
	var stopped *stoppedError
	switch {
	case err == nil:
		l.status.send(event{name: EventHelloOK, pid: os.Getpid()})
		return nil
	case errors.As(err, &stopped):
		return err
	}
	l.status.send(event{name: EventHelloRefused})
	return &identityError{err}
}

// sayHello has one exchange with the bridge: one line there, one line back, no retry. Plain socket calls,
// because the net package would cost every launch its start-up and every session its memory.
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

// helloLine is what the shim says. Its length is not a constant, so that it stands on the heap: a stack that
// grows leaves its old copy behind, which nobody wipes (S21).
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
		if err := limitWait(fd, unix.SO_SNDTIMEO, time.Until(deadline)); err != nil {
			return err
		}
		n, err := unix.Write(fd, rest)
		if err != nil && err != unix.EINTR {
			return slow(err)
		}
		rest = rest[max(n, 0):]
	}
	return nil
}

// connectWithin dials: a Unix socket makes the caller wait only while its backlog is full.
func connectWithin(fd int, path string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		if err := limitWait(fd, unix.SO_SNDTIMEO, time.Until(deadline)); err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != unix.EINTR {
			return slow(err)
		}
	}
}

// limitWait bounds the next socket call; a wait that is over already is an error of the same kind.
func limitWait(fd, option int, left time.Duration) error {
	if left <= 0 {
		return slow(unix.EAGAIN)
	}
	tv := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv)
}

func slow(err error) error {
	if err == unix.EAGAIN {
		return errors.New("no answer in time")
	}
	return err
}

// readLine reads up to the first newline, MaxAnswer bytes with it at most.
func readLine(fd int, deadline time.Time) ([]byte, error) {
	var buf []byte
	chunk := make([]byte, 4096)
	for {
		if err := limitWait(fd, unix.SO_RCVTIMEO, time.Until(deadline)); err != nil {
			return nil, err
		}
		n, err := unix.Read(fd, chunk)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, slow(err)
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

// checkAnswer accepts the one answer that confirms this session; members it does not know are ignored. It takes
// the members out by their exact names: Unmarshal into a struct would take "TYPE" for "type".
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

// lookEnv finds the last value of name, as a program that is started with environ would.
func lookEnv(environ []string, name string) (value string) {
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}
