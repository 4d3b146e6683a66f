package state

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostshim/host/wire"
	"hostshim/shim"
)

// CleanUpLost cleans up after sessions whose host was killed, and returns their ids: what still runs of them is ended,
// profile and temporary folder are removed, and each leaves an audit row. The caller says whether it holds the host lock:
// then no long-lived host lives, and the sessions of one are lost too.
func (p Places) CleanUpLost(haveHostLock bool, warn func(error)) (lost []string) {
	dir := filepath.Join(p.State, "sessions")
	defer DiscardGone(warn)
	var entries []os.DirEntry
	if own, err := openOwn(dir, false); err == nil { // another user's link could lead anywhere
		own.Close()
		entries, _ = os.ReadDir(dir)
	}
	servedToo, asked := haveHostLock, haveHostLock
	var paths []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !shim.ValidSessionID(id) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !asked && isServed(path) {
			asked = true
			if p.Listening() {
				// A long-lived host lives, whatever became of its lock.
			} else if lock, err := p.HostLock(); err == nil { // no long-lived host lives, nor can one begin while this holds the lock
				servedToo = true
				defer lock.Close()
			}
		}
		paths = append(paths, path)
	}
	atOnce := 16 // each costs a descriptor meanwhile, of the few that descriptors.Reserve keeps
	if haveHostLock {
		atOnce = 64 // of a host that begins, and has nothing else open yet
	}
	for batch := range slices.Chunk(paths, atOnce) {
		lost = append(lost, p.bury(batch, servedToo)...)
	}
	return lost
}

// Listening says whether something holds the socket. A long-lived host does as long as it lives.
func (p Places) Listening() bool {
	conn, err := net.DialTimeout("unix", p.Socket(), time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
}

func isServed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	g, err := readGrave(f)
	return err == nil && g.session.Served
}

// grave is the record of a session that may be lost.
type grave struct {
	file    *os.File
	session Session
	left    leftovers
	end     *Row // owed
}

// readGrave reads a record. An error says that its host was killed before it had written anything else.
func readGrave(f *os.File) (g grave, err error) {
	g.file = f
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return g, err
	}
	lines := json.NewDecoder(io.LimitReader(f, maxRow))
	if err := lines.Decode(&g.session); err != nil {
		return g, err
	}
	for next := (leftovers{}); lines.Decode(&next) == nil; next = (leftovers{}) {
		if next.End != nil {
			g.end = next.End
		} else {
			g.left = next
		}
	}
	return g, nil
}

// finished says that the session's host saw its end.
func (g grave) finished() bool { return g.end != nil }

func (g grave) hostLives() bool { return alive(g.session.Host, g.session.HostStart) }

// alive says whether pid is still the process that had this start.
func alive(pid int, start string) bool {
	if pid <= 0 {
		return false
	}
	p, err := ProcessOf(pid)
	return err == nil && p.Start == start && !p.Ended
}

// bury cleans up after the lost ones among these records, and returns their ids. Without servedToo a served session is
// left alone: its host may live.
func (p Places) bury(paths []string, servedToo bool) (lost []string) {
	var graves []grave
	for _, path := range paths {
		f, err := lockFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // somebody's, or gone
		}
		defer f.Close()
		g, unfinished := readGrave(f)
		switch {
		case unfinished != nil:
			os.Remove(path)
		case !g.finished() && (g.session.Served && !servedToo || g.hostLives()):
		default:
			graves = append(graves, g)
		}
	}
	endAll(graves)
	written := p.rowsOf(graves)
	for _, g := range graves {
		if p.buryOne(g, written[g.session.SessionID]) {
			lost = append(lost, g.session.SessionID)
		}
	}
	return lost
}

// buryOne removes what a lost session left, and its record once its audit row is there. It says whether the session was
// lost, rather than one whose host saw its end.
func (p Places) buryOne(g grave, written rows) bool {
	s := g.session
	// The record lies in a folder that only this user can write. Even so nothing is removed but what a host makes.
	if filepath.Dir(s.Profile) == p.Profiles() {
		os.Remove(s.Profile)
	}
	if strings.HasPrefix(filepath.Base(s.Temp), tempPrefix) && filepath.Dir(s.Temp) == RealTemp() {
		os.Rename(s.Temp, s.Temp+goneSuffix) // DiscardGone does the rest
	}
	for _, row := range g.owed(written) {
		if p.Append(row) != nil {
			return false // the record stays, and the next host tries again
		}
	}
	os.Remove(g.file.Name())
	return !written.end && !g.finished()
}

// owed are the rows that the session's host did not write any more.
func (g grave) owed(written rows) (list []Row) {
	if written.end {
		return nil
	}
	made := func(event, outcome, why string) {
		row := g.session.Row(event)
		row.PairingID, row.Outcome, row.Error = g.left.PairingID, outcome, why
		list = append(list, row)
	}
	started := g.left.Target > 0 || g.finished()
	switch {
	case written.launch:
	case !started:
		// The target may run a moment before its host knows.
		made(EventLaunch, OutcomeError, "its host was killed, and had not heard yet that the target had started")
		return list
	default:
		made(EventLaunch, OutcomeOK, "")
	}
	if g.finished() {
		return append(list, *g.end)
	}
	made(EventEnd, OutcomeError, "its host was killed")
	return list
}

// rows is what the audit file says of a session.
type rows struct{ launch, end bool }

// add notes one row. A launch that was refused is the session's end too, unless another session had its id.
func (seen *rows) add(r Row) {
	switch {
	case strings.HasPrefix(r.Error, wire.SessionExists+":"):
	case r.Event == EventLaunch && r.Outcome == OutcomeOK:
		seen.launch = true
	case r.Event == EventLaunch, r.Event == EventEnd:
		seen.end = true
	}
}

// rowsOf looks in the audit file, once for all, for the rows of these sessions: a host may have been killed right before or
// after it wrote one. A launch that was refused has no end.
func (p Places) rowsOf(graves []grave) map[string]rows {
	found, from := map[string]rows{}, map[string]int64{}
	first := int64(-1)
	for _, g := range graves {
		from[g.session.SessionID] = g.session.AuditAt
		if first < 0 || g.session.AuditAt < first {
			first = g.session.AuditAt
		}
	}
	f, err := os.Open(p.AuditFile())
	if err != nil || first < 0 {
		return found
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return found
	} else if info.Size() >= first { // else it was moved away, and this is a new one
		f.Seek(first, io.SeekStart)
	}
	at, _ := f.Seek(0, io.SeekCurrent)
	ReadRows(f, func(offset int64, _ []byte, r Row) error {
		if begin, ours := from[r.SessionID]; ours && (at+offset >= begin || at != first) {
			seen := found[r.SessionID]
			seen.add(r)
			found[r.SessionID] = seen
		}
		return nil
	})
	return found
}

// lostWithin is how long the shims of lost sessions have to end what is left of them.
const lostWithin = 12 * time.Second

// endAll ends what outlived killed hosts. The kernel told each shim to end; its target may have ignored that. So the
// target's group is killed, and the shim ends the rest. A target that is not noted dies with its shim (Linux).
func endAll(graves []grave) {
	for _, g := range graves {
		if l := g.left; alive(l.Target, l.TargetStart) {
			syscall.Kill(l.Target, syscall.SIGKILL)
			syscall.Kill(-l.Target, syscall.SIGKILL)
		}
		if l := g.left; alive(l.Shim, l.ShimStart) {
			syscall.Kill(l.Shim, syscall.SIGTERM) // a second stage ends by it
			syscall.Kill(l.Shim, syscall.SIGCONT)
		}
	}
	deadline := time.Now().Add(lostWithin)
	for _, g := range graves {
		for alive(g.left.Shim, g.left.ShimStart) {
			if time.Now().After(deadline) {
				syscall.Kill(g.left.Shim, syscall.SIGKILL)
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
