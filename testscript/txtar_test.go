package testscript

import (
	"bytes"
	"strings"
)

// An archive is a script and the files that it starts with: the text before the first `-- name --` line is
// the script, each such line begins a file.
type archive struct {
	script  []byte
	members []member
}

type member struct {
	name string
	data []byte
}

func parseArchive(data []byte) *archive {
	a := &archive{}
	body := &a.script
	for len(data) > 0 {
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line = data[:i+1]
		}
		data = data[len(line):]
		if name, ok := memberName(string(line)); ok {
			a.members = append(a.members, member{name: name})
			body = &a.members[len(a.members)-1].data
			continue
		}
		*body = append(*body, line...)
	}
	return a
}

func memberName(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok || !strings.HasSuffix(name, " --") {
		return "", false
	}
	name = strings.TrimSpace(strings.TrimSuffix(name, "--"))
	return name, name != ""
}

func (a *archive) format() []byte {
	var b bytes.Buffer
	write := func(data []byte) {
		b.Write(data)
		if len(data) > 0 && data[len(data)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	write(a.script)
	for _, m := range a.members {
		b.WriteString("-- " + m.name + " --\n")
		write(m.data)
	}
	return b.Bytes()
}

func (a *archive) find(name string) *member {
	for i := range a.members {
		if a.members[i].name == name {
			return &a.members[i]
		}
	}
	return nil
}
