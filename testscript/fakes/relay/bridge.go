package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
)

// bridge waits for the Hello of one launch.
type bridge struct {
	listener net.Listener
	heard    chan string
}

// openBridge listens while a launch is on its way. Only the session that got the secret is welcome.
func openBridge(id, secret string) (*bridge, error) {
	l, err := net.Listen("unix", *bridgePath)
	if err != nil {
		return nil, err
	}
	b := &bridge{l, make(chan string, 1)}
	go func() { b.heard <- converse(l, id, secret) }()
	return b, nil
}

func (b *bridge) close() { b.listener.Close() }

// said is what became of the Hello.
func (b *bridge) said() string { return <-b.heard }

func converse(l net.Listener, id, secret string) string {
	conn, err := l.Accept()
	if err != nil {
		return "none"
	}
	defer conn.Close()
	line, err := bufio.NewReaderSize(conn, 64<<10).ReadSlice('\n')
	if err != nil {
		return "no line"
	}
	var hello struct{ Type, Kind, Name, Token string }
	if err := json.Unmarshal(line, &hello); err != nil || hello.Type != "Hello" || hello.Kind != "project_session" || hello.Name != id || hello.Token != secret {
		fmt.Fprintln(conn, `{"type":"Error","message":"unknown launch"}`)
		return "refused"
	}
	fmt.Fprintf(conn, `{"type":"OK","data":{"kind":"project_session","service_id":%q,"relay_pid":%d}}`+"\n", id, os.Getpid())
	return "ok"
}
