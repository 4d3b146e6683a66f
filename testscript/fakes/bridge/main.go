// Command bridge plays the far end of a Hello: it listens on a Unix socket, prints `ready: PATH`, and for each
// connection the line it got, `hello: {…}` with the secret as its SHA-256, then what became of it.
//
//	bridge [-n COUNT] [-answer KIND] [-pid N] SOCKET
//
// KIND is one of the names in answers, or a text that is sent as it stands. After COUNT connections (1 by
// default, 0: no end) it ends.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

type hello struct {
	Type, Kind, Name, Token string
}

// answers are what a bridge may say, right or wrong; ID is the session's, PID the -pid.
var answers = map[string]string{
	"ok":          `{"type":"OK","data":{"kind":"project_session","service_id":"ID","relay_pid":PID}}` + "\n",
	"unknown":     `{"new":[1,{"a":null}],"type":"OK","data":{"more":true,"kind":"project_session","service_id":"ID","relay_pid":PID}}` + "\n",
	"spaces":      ` { "data" : { "relay_pid" : PID, "service_id" : "ID", "kind" : "project_session" }, "type" : "OK" } ` + "\n",
	"wrong-type":  `{"type":"ok","data":{"kind":"project_session","service_id":"ID","relay_pid":PID}}` + "\n",
	"error":       `{"type":"Error","message":"unknown session ID PID"}` + "\n",
	"wrong-kind":  `{"type":"OK","data":{"kind":"service","service_id":"ID","relay_pid":PID}}` + "\n",
	"wrong-id":    `{"type":"OK","data":{"kind":"project_session","service_id":"not-ID","relay_pid":PID}}` + "\n",
	"no-pid":      `{"type":"OK","data":{"kind":"project_session","service_id":"ID"}}` + "\n",
	"zero-pid":    `{"type":"OK","data":{"kind":"project_session","service_id":"ID","relay_pid":0}}` + "\n",
	"text-pid":    `{"type":"OK","data":{"kind":"project_session","service_id":"ID","relay_pid":"PID"}}` + "\n",
	"no-data":     `{"type":"OK"}` + "\n",
	"array":       `[{"type":"OK"}]` + "\n",
	"garbage":     "\x00\xff\xfe not JSON\n",
	"empty":       "\n",
	"no-newline":  `{"type":"OK","data":{"kind":"project_session","service_id":"ID","relay_pid":PID}}`,
	"close":       "", // closes without a word
	"overlong":    "", // a line one byte longer than 64 KiB, well formed but for that
	"longest":     "", // a line of 64 KiB, newline included, which is still right
	"slow":        "", // never says anything
	"drip":        "", // a right answer, but a byte a second
	"half-closed": "", // reads the line, sends half an answer, then nothing
}

func main() {
	count := flag.Int("n", 1, "connections")
	kind := flag.String("answer", "ok", "kind of answer, or its text")
	pid := flag.Int("pid", os.Getpid(), "relay_pid of the answer")
	flag.Parse()
	if err := serve(flag.Arg(0), *count, *kind, *pid); err != nil {
		fmt.Fprintln(os.Stderr, "bridge: error:", err)
		os.Exit(1)
	}
}

func serve(path string, count int, kind string, pid int) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("ready:", path)
	for i := 0; count == 0 || i < count; i++ {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		converse(conn, kind, pid)
	}
	return nil
}

func converse(conn net.Conn, kind string, pid int) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		fmt.Printf("cut: %d bytes without an end of line\n", len(line))
		return
	}
	var h hello
	fmt.Println("hello:", censored(line, &h))
	out := io.Writer(conn)
	text := answer(kind, h.Name, pid)
	if kind == "drip" {
		for i := range text {
			if _, err := out.Write([]byte{text[i]}); err != nil {
				break
			}
			<-time.After(time.Second)
		}
	} else if _, err := io.WriteString(out, text); err != nil {
		fmt.Println("answer:", err)
	}
	if kind == "close" || kind == "no-newline" {
		return
	}
	rest, _ := io.ReadAll(in) // until the other side is done
	fmt.Printf("closed: %d bytes more\n", len(rest))
}

// censored is a line with each value of the member token replaced; a line that is no object says so.
func censored(line string, h *hello) string {
	if err := json.Unmarshal([]byte(line), h); err != nil {
		return fmt.Sprintf("not JSON, %d bytes", len(line))
	}
	line = strings.TrimSuffix(line, "\n")
	if h.Token == "" {
		return line
	}
	return strings.ReplaceAll(line, h.Token, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(h.Token))))
}

func answer(kind, name string, pid int) string {
	fill := strings.NewReplacer("PID", strconv.Itoa(pid), "ID", name)
	ok := fill.Replace(answers["ok"])
	switch kind {
	case "drip":
		return ok
	case "half-closed":
		return ok[:len(ok)/2]
	case "overlong", "longest":
		length := 64 << 10
		if kind == "overlong" {
			length++
		}
		head := `{"pad":"","type"`
		return `{"pad":"` + strings.Repeat("x", length-len(ok)-len(head)+len(`{"type"`)) + `","type"` + strings.TrimPrefix(ok, `{"type"`)
	}
	text, known := answers[kind]
	if !known {
		return kind + "\n"
	}
	return fill.Replace(text)
}
