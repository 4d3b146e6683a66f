package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// exec starts the shim as relay's session service does, in one of its three forms: a terminal, an agent on pipes, the
// tools that relay gives a chat on pipes. Descriptor 3 is the secret, 4 takes the status events.
func exec(form string, args []string) error {
	if len(args) < 2 {
		return errors.New("want a shim and a target")
	}
	dir, err := filepath.Abs(*projectPath)
	if err != nil {
		return err
	}
	id, hidden := uuid(), secret()
	profile, err := writeProfile(id, dir, template{})
	if err != nil {
		return err
	}
	b, err := openBridge(id, hidden)
	if err != nil {
		return err
	}
	defer b.close()
	line := []string{"exec", "--session-id", id, "--identity"}
	if form == "pty" {
		line = append(line, "--pty")
	}
	line = append(line, "--sandbox-profile", profile, "--status-fd", "4", "--")
	target := args[1:]
	if form == "mcp" {
		target = append(target[:1:1], append([]string{"mcp"}, target[1:]...)...)
	}
	cmd := osexec.Command(args[0], append(line, target...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RELAY_SESSION_ID="+id, "RELAY_BRIDGE_SOCKET="+*bridgePath)
	return handOver(cmd, form == "pty", hidden, b)
}

// handOver runs the shim with its descriptors and prints the events and the target's output.
func handOver(cmd *osexec.Cmd, terminal bool, hidden string, b *bridge) error {
	secretR, secretW, err := os.Pipe()
	if err != nil {
		return err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{secretR, statusW}
	output, err := streams(cmd, terminal)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(secretW, hidden); err != nil {
		return err
	}
	secretW.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	secretR.Close()
	statusW.Close()
	for _, f := range []any{cmd.Stdin, cmd.Stdout} {
		if f, ok := f.(*os.File); ok {
			f.Close()
		}
	}
	said := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(output) // a terminal ends with an error
		said <- text
	}()
	for events := bufio.NewScanner(statusR); events.Scan(); {
		var e struct {
			Event         string
			Status, Errno int
		}
		if err := json.Unmarshal(events.Bytes(), &e); err != nil {
			return err
		}
		fmt.Println("event:", strings.TrimSuffix(e.Event+" "+strconv.Itoa(e.Status+e.Errno), " 0"))
	}
	fmt.Println("hello:", b.said())
	os.Stdout.Write(bytes.ReplaceAll(<-said, []byte("\r"), nil))
	err = cmd.Wait()
	fmt.Println("shim:", cmd.ProcessState.ExitCode())
	var status *osexec.ExitError
	if errors.As(err, &status) {
		return nil
	}
	return err
}

// streams gives the shim its standard streams and returns where its output comes out.
func streams(cmd *osexec.Cmd, terminal bool) (io.Reader, error) {
	if terminal {
		master, slave, err := openTerminal()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		return master, err
	}
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ours.Close()
	output, out, err := os.Pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
	return output, err
}
