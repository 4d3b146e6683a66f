package testscript

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tokenMarker begins every script's token: the shape of a real one, but never one.
const tokenMarker = "sk-ant-oat01-MARKER-"

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// A secret is a value that must be seen nowhere: whole, in part, or written another way.
type secret struct {
	name, value string
	needles     [][]byte
}

// addSecret makes a value known as $NAME to the script, never to a program's environment, with $NAME_SHA256
// and $NAME_LEN to compare by.
func (s *script) addSecret(name, value string) {
	sum := sha256.Sum256([]byte(value))
	s.vars[name], s.vars[name+"_SHA256"], s.vars[name+"_LEN"] = value, hex.EncodeToString(sum[:]), fmt.Sprint(len(value))
	sec := secret{name: name, value: value}
	tail := strings.TrimPrefix(value, tokenMarker)
	half := len(tail) / 2
	for _, part := range []string{tail[:half], tail[half:]} {
		sec.needles = append(sec.needles, []byte(part), []byte(hex.EncodeToString([]byte(part))))
	}
	for shift := 0; shift < 3; shift++ { // base64 of a part depends on where in a group of three it begins
		if len(value) > shift+6 {
			part := []byte(value[shift : shift+(len(value)-shift)/3*3])
			sec.needles = append(sec.needles, []byte(base64.StdEncoding.EncodeToString(part)), []byte(base64.URLEncoding.EncodeToString(part)))
		}
	}
	s.secrets = append(s.secrets, sec)
}

// cmdSecret makes another secret: fresh, as an identity secret looks, or what a file holds. A file that is not there is
// written.
func cmdSecret(s *script, c *call) error {
	value := randomHex(32)
	if len(c.args) == 2 {
		data, err := os.ReadFile(s.abs(c.args[1]))
		if os.IsNotExist(err) {
			err = s.writeSecret(c.args[1], value)
		} else {
			value = strings.TrimSpace(string(data))
		}
		if err != nil {
			return err
		}
		s.exempt[s.abs(c.args[1])] = true
	}
	if len(value) < 16 {
		return fmt.Errorf("%d bytes are too short to be searched for", len(value))
	}
	s.addSecret(c.args[0], value)
	return nil
}

// writeSecret writes a secret as its owner would keep it, without a newline: what goes through a pipe is the secret alone.
func (s *script) writeSecret(name, value string) error {
	path := s.abs(name)
	s.exempt[path] = true
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	os.Remove(path) // a file that is there keeps its mode
	return os.WriteFile(path, []byte(value), 0o600)
}

func (s *script) checkText(where string, text []byte) {
	for _, sec := range s.secrets {
		for _, needle := range sec.needles {
			if bytes.Contains(text, needle) {
				if leak := fmt.Sprintf("$%s in %s", sec.name, where); !slices.Contains(s.leaks, leak) {
					s.leaks = append(s.leaks, leak)
				}
				break
			}
		}
	}
}

// findLeaks looks for each secret wherever one could have come out: what programs printed, what pipes carried
// back, every file under $WORK, file names included.
func (s *script) findLeaks() error {
	for _, p := range s.started {
		s.checkText("standard output or terminal", []byte(p.out.text()))
		if p.err != nil {
			s.checkText("standard error", []byte(p.err.text()))
		}
	}
	for name, h := range s.handles {
		if h.in != nil {
			s.checkText("what "+name+" received", []byte(h.in.text()))
		}
	}
	filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || s.exempt[path] {
			return nil
		}
		rel := strings.TrimPrefix(path, s.work)
		s.checkText("a file's name", []byte(rel))
		if d.Type()&fs.ModeSymlink != 0 {
			link, _ := os.Readlink(path)
			s.checkText("the link $WORK"+rel, []byte(link))
		} else if d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			s.checkText("$WORK"+rel, data)
		}
		return nil
	})
	if s.leakOK || len(s.leaks) == 0 {
		return nil
	}
	return fmt.Errorf("token check: %s", strings.Join(s.leaks, ", "))
}
