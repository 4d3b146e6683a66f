package state

import (
	"bufio"
	"bytes"
	"io"
)

// readLines calls each for every line of r, with where it begins and without its end. A line of most bytes or more is too
// long to be kept, and comes as nil.
func readLines(r io.Reader, most int, each func(at int64, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, most)
	var at, next int64
	long := false // what comes goes on a line that is too long
	lines.Split(func(data []byte, end bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, end)
		if !long {
			at = next
		}
		if n == 0 && len(data) == most {
			n, long = most, true
		}
		next += int64(n)
		return n, line, err
	})
	for lines.Scan() {
		line := lines.Bytes()
		if long {
			line, long = nil, false
		}
		if err := each(at, line); err != nil {
			return err
		}
	}
	if long && lines.Err() == nil {
		return each(at, nil)
	}
	return lines.Err()
}

// backBlock is how much of a file readLinesBack is to read at once, in bytes.
const backBlock = 64 << 10

// readLinesBack does the same for the first size bytes of r, the last line first, in blocks of so many bytes. It reads no
// further than each asks for, which ends it by an error.
func readLinesBack(r io.ReaderAt, size int64, blockSize, most int, each func(at int64, line []byte) error) error {
	block := make([]byte, min(size, int64(blockSize)))
	var tail []byte // of the line that begins before what was read
	long := false   // that line is too long
	for end := size; size > 0; {
		rest := block[:min(size, int64(len(block)))]
		size -= int64(len(rest))
		if n, err := r.ReadAt(rest, size); n < len(rest) {
			return err
		}
		for more := true; more; {
			begin := bytes.LastIndexByte(rest, '\n') + 1
			tail = append(rest[begin:len(rest):len(rest)], tail...)
			if long = long || len(tail) >= most; long {
				tail = nil
			}
			if begin == 0 && size > 0 {
				tail = bytes.Clone(tail) // the block is read into again
				break
			}
			if at := size + int64(begin); long || at < end {
				if err := each(at, bytes.TrimSuffix(tail, []byte{'\r'})); err != nil {
					return err
				}
			}
			tail, long = nil, false
			more, rest = begin > 0, rest[:max(0, begin-1)]
		}
	}
	return nil
}
