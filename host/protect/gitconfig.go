package protect

import (
	"bytes"
	"errors"
	"strings"
)

// setting is one line of git's configuration.
type setting struct {
	section string // lower case
	sub     string // as it stands
	name    string // lower case
	value   string // "" for a key alone as well
}

// key is the setting's name as git prints it.
func (s setting) key() string {
	switch {
	case s.section == "":
		return s.name // git takes it
	case s.sub == "":
		return s.section + "." + s.name
	}
	return s.section + "." + s.sub + "." + s.name
}

var errConfig = errors.New("not git's syntax")

// parseConfig reads a git configuration file as git does. With an error it returns what stands before: git itself stops
// there.
func parseConfig(data []byte) ([]setting, error) {
	p := &configParser{rest: bytes.TrimPrefix(data, []byte("\ufeff"))}
	for {
		c, ok := p.next()
		switch {
		case !ok:
			return p.all, nil
		case isBlank(c) || c == '\n':
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			if !p.header() {
				return p.all, errConfig
			}
		case isLetter(c):
			if !p.setting(c) {
				return p.all, errConfig
			}
		default:
			return p.all, errConfig
		}
	}
}

type configParser struct {
	rest []byte
	at   setting // section and subsection of what follows
	all  []setting
}

// next takes a byte. A carriage return before a line's end is none.
func (p *configParser) next() (byte, bool) {
	if len(p.rest) == 0 {
		return 0, false
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\r' && len(p.rest) > 0 && p.rest[0] == '\n' {
		c, p.rest = '\n', p.rest[1:]
	}
	return c, true
}

func (p *configParser) comment() {
	for c, ok := p.next(); ok && c != '\n'; c, ok = p.next() {
	}
}

// header reads a section's name, behind the bracket: [name], [name "sub"] or, as it once was, [name.sub].
func (p *configParser) header() bool {
	var name []byte
	for {
		c, ok := p.next()
		switch {
		case !ok:
			return false
		case c == ']':
			section, sub, _ := strings.Cut(string(name), ".")
			p.at = setting{section: section, sub: sub}
			return section != ""
		case isBlank(c):
			return p.subsection(string(name))
		case !isLetter(c) && !isDigit(c) && c != '-' && c != '.':
			return false
		}
		name = append(name, lower(c))
	}
}

// subsection reads the rest of a header behind its first blank.
func (p *configParser) subsection(section string) bool {
	c, ok := p.next()
	for ok && isBlank(c) {
		c, ok = p.next()
	}
	if !ok || c != '"' || section == "" {
		return false
	}
	var sub []byte
	for {
		c, ok := p.next()
		if ok && c == '\\' {
			c, ok = p.next()
		} else if c == '"' {
			break
		}
		if !ok || c == '\n' {
			return false
		}
		sub = append(sub, c)
	}
	// git joins [a.b "c"] to the key a.b.c.x; only the first part decides what it means.
	first, more, dotted := strings.Cut(section, ".")
	p.at = setting{section: first, sub: string(sub)}
	if dotted {
		p.at.sub = more + "." + p.at.sub
	}
	c, ok = p.next()
	return ok && c == ']'
}

// setting reads a key that begins with c, and its value.
func (p *configParser) setting(c byte) bool {
	name := []byte{lower(c)}
	c, ok := p.next()
	for ok && (isLetter(c) || isDigit(c) || c == '-') {
		name = append(name, lower(c))
		c, ok = p.next()
	}
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.next()
	}
	s := p.at
	s.name = string(name)
	if ok && c != '\n' {
		if c != '=' {
			return false
		}
		if s.value, ok = p.value(); !ok {
			return false
		}
	}
	p.all = append(p.all, s)
	return true
}

// value reads to the end of the line, which a backslash takes into the next one.
func (p *configParser) value() (string, bool) {
	var text []byte
	kept := 0 // up to where blanks at the end are not cut off
	quoted := false
	for {
		c, ok := p.next()
		switch {
		case !ok || c == '\n':
			return string(text[:kept]), !quoted
		case quoted || !isBlank(c):
		case len(text) > 0:
			text = append(text, c)
			continue
		default:
			continue
		}
		switch {
		case !quoted && (c == '#' || c == ';'):
			p.comment()
			return string(text[:kept]), true
		case c == '"':
			quoted = !quoted
			kept = len(text)
			continue
		case c == '\\':
			if c, ok = p.next(); !ok || c == '\n' {
				continue
			}
			if c, ok = unescape(c); !ok {
				return "", false
			}
		}
		text = append(text, c)
		kept = len(text)
	}
}

func unescape(c byte) (byte, bool) {
	switch c {
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'n':
		return '\n', true
	case '"', '\\':
		return c, true
	}
	return 0, false
}

func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
