package state

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxRequestLog is how large the file of the model proxy's lines becomes, in bytes. Then it gets the name of the one
// before, so that there are never more than twice as many.
const maxRequestLog = 8 << 20

// RequestLog is the file of the model proxy's lines (P12), which several hosts write at once. It is made by the first line.
type RequestLog struct {
	places Places
	mu     sync.Mutex
	file   *os.File
	held   os.FileInfo // of file, when it was opened
}

// NewRequestLog opens nothing yet.
func (p Places) NewRequestLog() *RequestLog { return &RequestLog{places: p} }

// OldRequestLog holds the lines before those of RequestLog.
func (p Places) OldRequestLog() string { return p.RequestLog() + ".1" }

// Write adds one line in one write.
func (l *RequestLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return 0, err
	}
	return l.file.Write(line)
}

// Close closes the file; another line would open it again.
func (l *RequestLog) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// open sees to it that file is the one of that name, and has room.
func (l *RequestLog) open() (err error) {
	path := l.places.RequestLog()
	for {
		if l.file == nil {
			if _, err := l.places.Dir(); err != nil {
				return err
			}
			if l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600); err != nil {
				return err
			}
			if l.held, err = l.file.Stat(); err != nil {
				return err
			}
		}
		seen, err := os.Lstat(path)
		same := err == nil && os.SameFile(l.held, seen)
		if same && seen.Size() < maxRequestLog {
			return nil
		}
		// Of several hosts that find it full, the one that locks it moves it away; the others then find it moved.
		if same {
			err := flock(l.file, time.Now().Add(rowWithin))
			if err == syscall.EWOULDBLOCK {
				return nil // a line more
			}
			if now, gone := os.Lstat(path); gone == nil && os.SameFile(l.held, now) {
				if err = os.Rename(path, l.places.OldRequestLog()); err != nil {
					return err
				}
			}
		}
		l.file.Close()
		l.file = nil
	}
}

// ReadRequests calls each for every line of the request log, older ones first.
func (p Places) ReadRequests(each func(line []byte) error) error {
	for _, path := range []string{p.OldRequestLog(), p.RequestLog()} {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxRow)
		for err == nil && lines.Scan() {
			err = each(lines.Bytes())
		}
		file.Close()
		if err = errors.Join(err, lines.Err()); err != nil {
			return err
		}
	}
	return nil
}
