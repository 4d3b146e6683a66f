package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// kind is what a grant is of: it decides which rights make sense and how a profile names it.
type kind int

const (
	folder kind = iota // with all below; also one that will be made
	file               // also a FIFO
	device             // a character device
	socket
)

// grant is one path that the session may use.
type grant struct {
	place
	kind  kind
	write bool
	from  origin

	optional bool // left out where it cannot be placed
}

// origin groups grants in a profile that people read.
type origin int

const (
	fromSystem   origin = iota // every session's
	fromSession                // working directory, temporary directory
	fromProgram                // what the target needs to start
	fromTemplate               // read and read_write entries
)

var (
	errRoot     = errors.New("the whole file system is never granted")
	errBlock    = errors.New("a disk's raw content goes round every deny: never granted")
	errAllOfDev = errors.New("never granted whole: it holds disks and other terminals; name single nodes")
	errKernel   = errors.New("holds the kernel's own controls: never granted for writing")
	errOddFile  = errors.New("neither a folder, a file, a device, a socket nor a FIFO")
	errNoFile   = errors.New("no such file, and a grant needs one: make it first, or end the entry with / if it is a folder")
	errNoDir    = errors.New("no such file, and the folder it would be in is missing too")
	errNotDir   = errors.New("not a directory")
)

// session grants the two folders that are the session's own. Its terminal needs no grant here: the shim
// grants the node behind descriptors 0 to 2.
func (b *builder) session() error {
	work, err := b.locate(b.spec.WorkDir)
	switch {
	case err != nil:
	case work.missing != "":
		err = syscall.ENOENT
	case !work.node.isDir():
		err = errNotDir
	case work.real == "/":
		err = errRoot
	}
	if err != nil {
		return fmt.Errorf("working directory %q: %w", b.spec.WorkDir, err)
	}
	b.work = work
	if b.spec.ListAbove {
		b.above = work.real
	}
	b.add(grant{place: work, write: true, from: fromSession})

	temp, err := b.locate(b.spec.TempDir)
	switch {
	case err != nil:
	case temp.missing != "":
		b.plan(temp)
	case !temp.node.isDir():
		err = errNotDir
	case temp.real == "/":
		err = errRoot
	}
	if err != nil {
		return fmt.Errorf("temporary directory %q: %w", b.spec.TempDir, err)
	}
	b.temp = temp.real
	b.add(grant{place: temp, write: true, from: fromSession})
	return nil
}

// templates grants the templates' entries (X05).
func (b *builder) templates() error {
	var absent []string
	for _, entry := range b.spec.Read {
		g, err := b.entry(entry, false)
		if err != nil {
			return fmt.Errorf("read %q: %w", entry, err)
		}
		if g.missing != "" {
			absent = append(absent, strconv.Quote(entry)) // relay's templates name folders of several systems
			continue
		}
		b.add(g)
	}
	for _, entry := range b.spec.ReadIfThere {
		as := folder
		if !strings.HasSuffix(entry, "/") {
			as = file
		}
		if g, err := b.entry(entry, false); err == nil && g.missing == "" && g.kind == as {
			g.optional = true
			b.add(g)
		}
	}
	for _, entry := range b.spec.ReadWrite {
		g, err := b.entry(entry, true)
		if err == nil && g.missing != "" {
			g, err = b.toBe(entry, g)
		}
		if errors.Is(err, errNoFile) {
			b.warnings = append(b.warnings, fmt.Sprintf("read_write %q: left out: %v. A program that replaces its file needs the folder granted", entry, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("read_write %q: %w", entry, err)
		}
		b.add(g)
	}
	if len(absent) > 0 {
		b.warnings = append(b.warnings, "read: left out, as not there: "+strings.Join(absent, ", "))
	}
	return nil
}

// entry resolves one template entry and refuses what no template may grant.
func (b *builder) entry(entry string, write bool) (grant, error) {
	p, err := b.locate(entry)
	if err != nil {
		return grant{}, err
	}
	g := grant{place: p, write: write, from: fromTemplate}
	if p.missing == "" {
		if g.kind, err = kindOf(p.node); err != nil {
			return grant{}, err
		}
	}
	switch {
	case p.real == "/":
		return grant{}, errRoot
	case b.spec.GOOS != "linux":
		return g, nil
	case b.holdsDisks(p):
		return grant{}, errAllOfDev
	case write && (within(p.real, "/proc") || within(p.real, "/sys")):
		return grant{}, errKernel
	}
	return g, nil
}

func kindOf(n node) (kind, error) {
	switch {
	case n.isDir():
		return folder, nil
	case n.mode.IsRegular(), n.mode&fs.ModeNamedPipe != 0:
		return file, nil
	case n.mode&fs.ModeSocket != 0:
		return socket, nil
	case n.mode&fs.ModeCharDevice != 0:
		return device, nil
	case n.mode&fs.ModeDevice != 0:
		return 0, errBlock
	}
	return 0, errOddFile
}

// holdsDisks says whether p is /dev or a folder in it with a disk's node: as root, a session that opens
// one reads every file on it (X04, X06). Folders such as /dev/pts and /dev/dri hold none.
func (b *builder) holdsDisks(p place) bool {
	if p.real == "/dev" {
		return true
	}
	if !below(p.real, "/dev") || !p.node.isDir() {
		return false
	}
	all, err := b.sys.names(p.real)
	if err != nil {
		return true // what cannot be looked into cannot be judged
	}
	for _, name := range all {
		q, err := b.locate(filepath.Join(p.real, name))
		if err != nil {
			continue
		}
		if _, err := kindOf(q.node); errors.Is(err, errBlock) {
			return true
		}
	}
	return false
}

// toBe decides about a read_write entry that is missing. A folder will be made. A file is for the target to make. macOS
// judges names, so the name can be granted in advance. Linux can only grant what is there, and the host makes no empty
// file: one in place of a JSON file would break the program that reads it.
func (b *builder) toBe(entry string, g grant) (grant, error) {
	if !looksLikeFile(entry) {
		b.create = append(b.create, b.plan(g.place)...)
		return g, nil
	}
	if b.spec.GOOS == "linux" {
		return g, errNoFile
	}
	if g.missing != g.real {
		return g, errNoDir
	}
	g.kind = file
	return g, nil
}

// looksLikeFile guesses from a name that is not there yet. An ending (settings.json, .claude.json) makes a
// file; so do the names that home folders traditionally use for one (.bashrc, .gitconfig). All else is a
// folder, .cache and .config as well, and so is whatever ends with a slash.
func looksLikeFile(entry string) bool {
	if strings.HasSuffix(entry, "/") {
		return false
	}
	name := filepath.Base(entry)
	plain := strings.TrimPrefix(name, ".")
	if ext := filepath.Ext(plain); len(ext) > 1 && ext != plain {
		return true
	}
	if plain == name || name == ".config" {
		return false
	}
	for _, end := range []string{"rc", "config", "history", "profile", "ignore", "credentials"} {
		if strings.HasSuffix(plain, end) {
			return true
		}
	}
	return false
}

// plan marks the missing part of p as folders that will be there, and returns them, parents first.
func (b *builder) plan(p place) []string {
	var made []string
	for dir := p.real; !b.planned[dir]; dir = filepath.Dir(dir) {
		b.planned[dir] = true
		made = append([]string{dir}, made...)
		if dir == p.missing {
			break
		}
	}
	return made
}

func (b *builder) add(g grant) { b.grants = append(b.grants, g) }
