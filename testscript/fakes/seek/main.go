// Command seek looks for a text in all that it may read:
//
//	seek REGEXP PATH…
//
// What it was given (arguments, environment, descriptors above 2) and each PATH with all below it; of the path /proc
// every process's arguments, environment and open files. It prints
//
//	found: PLACE      once for each place, `found: none` if nowhere
//	memory: N of M    of the other processes, how many show it their memory
//	read: N           places it could read
//
// and no content. It waits for nothing: a pipe that is empty is empty.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

const (
	largest = 64 << 20 // of a file
	chunk   = 1 << 20
	overlap = 4 << 10 // what is sought is shorter
)

type seeker struct {
	re          *regexp.Regexp
	found       []string
	read        int
	minds, open int
	buf         [overlap + chunk]byte
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "seek: error: wants a regular expression")
		os.Exit(99)
	}
	s := &seeker{re: regexp.MustCompile(os.Args[1])}
	for n := 3; n < 64; n++ {
		s.file("descriptor "+strconv.Itoa(n), "/dev/fd/"+strconv.Itoa(n))
	}
	s.text("arguments", strings.Join(os.Args[2:], "\n"))
	s.text("environment", strings.Join(os.Environ(), "\n"))
	for _, root := range os.Args[2:] {
		if root == "/proc" {
			s.processes()
			continue
		}
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			s.text("the name "+path, filepath.Base(path))
			if err == nil && d.Type().IsRegular() {
				s.file(path, path)
			}
			return nil
		})
	}
	if len(s.found) == 0 {
		s.found = []string{"none"}
	}
	for _, place := range s.found {
		fmt.Println("found:", place)
	}
	fmt.Printf("memory: %d of %d\nread: %d\n", s.open, s.minds, s.read)
}

func (s *seeker) text(place, text string) {
	s.read++
	if s.re.MatchString(text) {
		s.found = append(s.found, place)
	}
}

func (s *seeker) file(place, path string) {
	// By the bare call: os would have a pipe wait for its writer.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	buf, kept := s.buf[:], 0 // pieces that overlap
	for total := 0; total < largest; {
		n, err := syscall.Read(fd, buf[kept:])
		if n <= 0 || err != nil {
			break
		}
		if total == 0 {
			s.read++
		}
		total += n
		if s.re.Match(buf[:kept+n]) {
			s.found = append(s.found, place)
			break
		}
		all := buf[:kept+n]
		kept = copy(buf, all[max(0, len(all)-overlap):])
	}
}

func (s *seeker) processes() {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		s.process(dir, filepath.Base(dir) == strconv.Itoa(os.Getpid()))
	}
}

func (s *seeker) process(dir string, self bool) {
	for _, name := range []string{"cmdline", "environ", "comm", "status", "stack"} {
		s.file(filepath.Join(dir, name), filepath.Join(dir, name))
	}
	if self {
		return
	}
	fds, _ := filepath.Glob(filepath.Join(dir, "fd", "*"))
	for _, fd := range fds {
		if info, err := os.Stat(fd); err == nil && info.Mode().IsRegular() {
			s.file(fd, fd) // what is in a pipe is somebody else's to read
		}
	}
	if status, err := os.ReadFile(filepath.Join(dir, "status")); err == nil && !strings.Contains(string(status), "\nVmSize:") {
		return // a thread of the kernel, which has no memory of its own: old kernels let anybody open that
	}
	s.minds++
	// To open it is to have it: nobody need go through it to say so.
	if mem, err := os.Open(filepath.Join(dir, "mem")); err == nil {
		mem.Close()
		s.open++
	}
}
