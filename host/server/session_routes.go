package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hostshim/host/wire"

	"golang.org/x/sys/unix"
)

// writeWithin is how long a client may take to read one piece of output.
const writeWithin = 10 * time.Second

// onSession finds the session that the path names.
func (s *server) onSession(handle func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		session := s.sessions.find(id)
		if session == nil {
			fail(w, &wire.Error{Code: wire.SessionUnknown, Message: fmt.Sprintf("no session %.128q", id)})
			return
		}
		handle(w, r, session)
	}
}

func (s *server) handleSession(w http.ResponseWriter, _ *http.Request, session *session) {
	answer(w, http.StatusOK, session.view())
}

// handleLog sends what is kept of the output from byte since on, and with ?follow=1 goes on until the session ends.
func (s *server) handleLog(w http.ResponseWriter, r *http.Request, session *session) {
	since, err := sinceOf(r)
	if err != nil {
		fail(w, err)
		return
	}
	following := truth(r, "follow")
	if following {
		if !s.follow.Take(1) {
			fail(w, errFollowed)
			return
		}
		defer s.follow.Give(1)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	conn := http.NewResponseController(w)
	conn.SetWriteDeadline(time.Now().Add(writeWithin))
	defer conn.SetWriteDeadline(time.Time{})
	if !following {
		log, from := session.out.snapshot(since)
		w.Header().Set(wire.OffsetHeader, strconv.FormatInt(from, 10))
		w.Header().Set("Content-Length", strconv.Itoa(len(log)))
		w.Write(log)
		return
	}
	reader := session.out.read(since)
	defer reader.close()
	w.Header().Set(wire.OffsetHeader, strconv.FormatInt(reader.at, 10))
	conn.Flush()
	err = follow(r.Context(), reader, func(p []byte) error {
		conn.SetWriteDeadline(time.Now().Add(writeWithin))
		_, err := w.Write(p)
		return errors.Join(err, conn.Flush())
	})
	if err != nil {
		panic(http.ErrAbortHandler) // a body that broke off must not look whole
	}
}

// sinceOf is how many bytes of output the client has already.
func sinceOf(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("since")
	if text == "" {
		return 0, nil
	}
	since, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, &wire.Error{Code: wire.InvalidSpec, Message: fmt.Sprintf("since: want a number of bytes, got %.40q", text)}
	}
	return int64(since), nil
}

func truth(r *http.Request, name string) bool {
	v, _ := strconv.ParseBool(r.URL.Query().Get(name))
	return v
}

// takesInput says why a session takes no input; nil: it does.
func (s *session) takesInput() error {
	switch s.view().State {
	case wire.StateEnded:
		return &wire.Error{Code: wire.SessionEnded, Message: fmt.Sprintf("%v has ended", s)}
	case wire.StateStarting:
		return &wire.Error{Code: wire.NotPossible, Message: fmt.Sprintf("%v is starting", s)}
	}
	return nil
}

func (s *server) handleInput(w http.ResponseWriter, r *http.Request, session *session) {
	body, err := readBody(w, r)
	if err == nil {
		err = session.takesInput()
	}
	if err != nil {
		fail(w, err)
		return
	}
	if err := session.input(body, truth(r, "eof")); err != nil {
		fail(w, &wire.Error{Code: wire.NotPossible, Message: err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) handleResize(w http.ResponseWriter, r *http.Request, session *session) {
	var cols, rows int
	err := takeMembers(w, r, func(o object) (err error) {
		cols, rows, err = o.terminalSize(1)
		return err
	})
	if err == nil {
		err = session.takesInput()
	}
	if err != nil {
		fail(w, err)
		return
	}
	if err := session.resize(cols, rows); err != nil {
		fail(w, &wire.Error{Code: wire.NotPossible, Message: err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// handleAttach turns the connection into a raw one: the log first, then what comes, no byte twice or lost; what the
// client sends is input. An ended session gives its log and closes.
func (s *server) handleAttach(w http.ResponseWriter, r *http.Request, session *session) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), wire.AttachProtocol) || !hasToken(r.Header, "Connection", "upgrade") {
		w.Header().Set("Upgrade", wire.AttachProtocol)
		w.Header().Set("Connection", "Upgrade")
		answer(w, http.StatusUpgradeRequired, &wire.Error{Code: wire.InvalidSpec, Message: "want Connection: Upgrade and Upgrade: " + wire.AttachProtocol})
		return
	}
	if err := session.takesInput(); err != nil && session.view().State == wire.StateStarting {
		fail(w, err)
		return
	}
	if !s.follow.Take(1) {
		fail(w, errFollowed)
		return
	}
	defer s.follow.Give(1)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, &wire.Error{Code: wire.SpawnFailed, Message: err.Error()})
		return
	}
	defer conn.Close()
	defer session.attached()()
	conn.SetDeadline(time.Time{})
	reader := session.out.read(0)
	defer reader.close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %d\r\n\r\n", wire.AttachProtocol, wire.OffsetHeader, reader.at)
	ctx, detach := context.WithCancel(context.Background())
	defer detach()
	go func() {
		takeInput(session, buffered.Reader)
		untilHungUp(ctx, conn)
		detach()
	}()
	err = follow(ctx, reader, func(p []byte) error {
		conn.SetWriteDeadline(time.Now().Add(writeWithin))
		_, err := conn.Write(p)
		return err
	})
	if err != nil && ctx.Err() == nil {
		session.log.Info("attached client dropped", "error", err.Error())
	}
}

// untilHungUp waits until a client that sends no more also reads no more: one that only ended its input still gets
// the output.
func untilHungUp(ctx context.Context, conn net.Conn) {
	raw, err := conn.(*caller).SyscallConn()
	if err != nil {
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for gone := false; ; {
		poll := func(fd uintptr) {
			state := []unix.PollFd{{Fd: int32(fd)}}
			_, err := unix.Poll(state, 0)
			gone = err == nil && state[0].Revents != 0
		}
		if err := raw.Control(poll); err != nil || gone {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeInput passes on what an attached client types, until it says no more or the connection is closed.
func takeInput(session *session, from io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && session.takesInput() == nil {
			if err := session.input(buf[:n], false); err != nil {
				session.log.Info("input lost", "error", err.Error())
			}
		}
		if err != nil {
			return
		}
	}
}

// hasToken looks for a word in a header that is a list.
func hasToken(h http.Header, name, want string) bool {
	for _, value := range h.Values(name) {
		for word := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(word), want) {
				return true
			}
		}
	}
	return false
}
