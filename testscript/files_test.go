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
	if len(c.args) == 0 {
		return errUsage
	}
	if c.args[0] == "-u" {
		for _, name := range c.args[1:] {
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
	if len(c.args) != 1 {
		return errUsage
	}
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

func cmdMkdir(s *script, c *call) error {
	for _, dir := range c.args {
		if err := os.MkdirAll(s.abs(dir), 0o755); err != nil {
			return err
		}
	}
	return usageUnless(len(c.args) > 0)
}

func usageUnless(ok bool) error {
	if !ok {
		return errUsage
	}
	return nil
}

// cmdCp copies files, or an output, to a file or into a folder. A copy of a file that may hold a secret may too.
func cmdCp(s *script, c *call) error {
	if len(c.args) < 2 {
		return errUsage
	}
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
	if len(c.args) != 2 {
		return errUsage
	}
	from, to := s.abs(c.args[0]), s.abs(c.args[1])
	for path := range s.exempt {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '/') {
			s.exempt[to+rest] = true
		}
	}
	return os.Rename(from, to)
}

// cmdRm removes files and folders, below $WORK only.
func cmdRm(s *script, c *call) error {
	for _, arg := range c.args {
		path := s.abs(arg)
		if !strings.HasPrefix(path, s.work+"/") {
			return fmt.Errorf("%s is not under $WORK", path)
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return usageUnless(len(c.args) > 0)
}

func cmdChmod(s *script, c *call) error {
	if len(c.args) < 2 {
		return errUsage
	}
	mode, err := fileMode(c.args[0])
	if err != nil {
		return err
	}
	for _, arg := range c.args[1:] {
		if err := os.Chmod(s.abs(arg), mode); err != nil {
			return err
		}
	}
	return nil
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
	if len(c.args) < 2 {
		return errUsage
	}
	uid, err := strconv.Atoi(c.args[0])
	if err != nil {
		return errUsage
	}
	for _, arg := range c.args[1:] {
		path := s.abs(arg)
		if path != s.work && !strings.HasPrefix(path, s.work+"/") {
			return fmt.Errorf("%s is not under $WORK", path)
		}
		err := filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, uid, uid))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func cmdLn(s *script, c *call) error {
	args := c.args
	if len(args) == 3 && args[0] == "-s" {
		return os.Symlink(args[1], s.abs(args[2]))
	}
	if len(args) != 2 {
		return errUsage
	}
	if s.exempt[s.abs(args[0])] {
		s.exempt[s.abs(args[1])] = true
	}
	return os.Link(s.abs(args[0]), s.abs(args[1]))
}

// cmdExists asks for names, links included that lead nowhere, with -mode=M for these permissions. A name may
// be a pattern, which must match at least once, or under ! not at all.
func cmdExists(s *script, c *call) error {
	args, want := c.args, ""
	if len(args) > 0 {
		if mode, ok := strings.CutPrefix(args[0], "-mode="); ok {
			args, want = args[1:], mode
		}
	}
	if len(args) == 0 || want != "" && c.neg == '!' {
		return errUsage
	}
	for _, arg := range args {
		paths, err := filepath.Glob(s.abs(arg))
		if err != nil {
			return err
		}
		if c.neg == '!' && len(paths) > 0 {
			return fmt.Errorf("%s exists", paths[0])
		}
		if c.neg == 0 && len(paths) == 0 {
			return fmt.Errorf("%s does not exist", arg)
		}
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			mode, err := fileMode(want)
			if special := fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky; want != "" && (err != nil || info.Mode()&special != mode) {
				return fmt.Errorf("%s has mode %v, want %s", arg, info.Mode(), want)
			}
		}
	}
	return nil
}

// cmdExpand replaces variables in files of the script's own. One that a secret went into may hold it.
func cmdExpand(s *script, c *call) error {
	for _, arg := range c.args {
		data, err := os.ReadFile(s.abs(arg))
		if err != nil {
			return err
		}
		text, err := s.expandText(string(data), false)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.secrets, func(sec secret) bool { return strings.Contains(text, sec.value) }) {
			s.exempt[s.abs(arg)] = true
		}
		if err := os.WriteFile(s.abs(arg), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return usageUnless(len(c.args) > 0)
}

func cmdStdin(s *script, c *call) error {
	if len(c.args) != 1 {
		return errUsage
	}
	data, err := s.read(c.args[0])
	s.stdin, s.fed = data, err == nil
	return err
}
