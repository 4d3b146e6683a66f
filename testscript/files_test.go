package testscript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func cmdEnv(s *script, c *call) error {
	if c.flag("-u") {
		for _, name := range c.args {
			delete(s.env, name)
		}
		return nil
	}
	for _, arg := range c.args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return errUsage
		}
		s.env[name] = value
	}
	return nil
}

func cmdCd(s *script, c *call) error {
	dir := s.abs(c.args[0])
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err == nil {
		s.dir = dir
	}
	return err
}

// each does something with the path of each argument.
func (s *script) each(args []string, do func(path string) error) error {
	for _, arg := range args {
		if err := do(s.abs(arg)); err != nil {
			return err
		}
	}
	return nil
}

func cmdMkdir(s *script, c *call) error {
	return s.each(c.args, func(path string) error { return os.MkdirAll(path, 0o755) })
}

// cmdCp copies files, or an output, to a file or into a folder. A copy of a file that may hold a secret may too.
func cmdCp(s *script, c *call) error {
	last := s.abs(c.args[len(c.args)-1])
	info, err := os.Stat(last)
	isDir := err == nil && info.IsDir()
	for _, arg := range c.args[:len(c.args)-1] {
		data, err := s.read(arg)
		if err != nil {
			return err
		}
		to, mode := last, fs.FileMode(0o644)
		if isDir {
			to = filepath.Join(last, filepath.Base(arg))
		}
		if info, err := os.Stat(s.abs(arg)); err == nil {
			mode = info.Mode().Perm()
		}
		if s.exempt[s.abs(arg)] {
			s.exempt[to] = true
		}
		if err := os.WriteFile(to, data, mode); err != nil {
			return err
		}
	}
	return nil
}

func cmdMv(s *script, c *call) error {
	from, to := s.abs(c.args[0]), s.abs(c.args[1])
	for path := range s.exempt {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '/') {
			s.exempt[to+rest] = true
		}
	}
	return os.Rename(from, to)
}

// within refuses a path that is not the script's own.
func (s *script) within(path string) error {
	if path != s.work && !strings.HasPrefix(path, s.work+"/") {
		return fmt.Errorf("%s is not under $WORK", path)
	}
	return nil
}

// cmdRm removes files and folders.
func cmdRm(s *script, c *call) error {
	return s.each(c.args, func(path string) error {
		if err := s.within(path); err != nil {
			return err
		}
		return os.RemoveAll(path)
	})
}

func cmdChmod(s *script, c *call) error {
	mode, err := fileMode(c.args[0])
	if err != nil {
		return err
	}
	return s.each(c.args[1:], func(path string) error { return os.Chmod(path, mode) })
}

// fileMode reads an octal mode as chmod(1) does, set-user-id, set-group-id and sticky bits included.
func fileMode(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is not octal", text)
	}
	mode := fs.FileMode(n & 0o777)
	for bit, special := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if n&bit != 0 {
			mode |= special
		}
	}
	return mode, nil
}

// cmdChown gives paths, and all below them, to a user, so that `as UID` can use them.
func cmdChown(s *script, c *call) error {
	uid, err := strconv.Atoi(c.args[0])
	if err != nil {
		return errUsage
	}
	return s.each(c.args[1:], func(path string) error {
		if err := s.within(path); err != nil {
			return err
		}
		return filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, uid, uid))
		})
	})
}

func cmdLn(s *script, c *call) error {
	if c.flag("-s") {
		return os.Symlink(c.args[0], s.abs(c.args[1]))
	}
	if s.exempt[s.abs(c.args[0])] {
		s.exempt[s.abs(c.args[1])] = true
	}
	return os.Link(s.abs(c.args[0]), s.abs(c.args[1]))
}

// cmdExists asks for names, links included that lead nowhere, with -mode=M for these permissions. A name may be a pattern,
// which must match at least once, or under ! not at all.
func cmdExists(s *script, c *call) error {
	want, hasMode := strings.CutPrefix(c.args[0], "-mode=")
	if hasMode {
		c.args = c.args[1:]
	}
	if len(c.args) == 0 || hasMode && c.neg == '!' {
		return errUsage
	}
	return s.each(c.args, func(pattern string) error {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if c.neg == '!' && len(paths) > 0 {
			return fmt.Errorf("%s exists", paths[0])
		}
		if c.neg == 0 && len(paths) == 0 {
			return fmt.Errorf("%s does not exist", pattern)
		}
		if hasMode {
			return haveMode(paths, want)
		}
		return nil
	})
}

func haveMode(paths []string, want string) error {
	mode, err := fileMode(want)
	if err != nil {
		return err
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if info.Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != mode {
			return fmt.Errorf("%s has mode %v, want %s", path, info.Mode(), want)
		}
	}
	return nil
}

// cmdExpand replaces variables in files of the script's own. One that a secret went into may hold it.
func cmdExpand(s *script, c *call) error {
	return s.each(c.args, func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := s.expandText(string(data), false)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.secrets, func(sec secret) bool { return strings.Contains(text, sec.value) }) {
			s.exempt[path] = true
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
}

func cmdStdin(s *script, c *call) error {
	data, err := s.read(c.args[0])
	s.stdin = append([]byte{}, data...)
	return err
}
