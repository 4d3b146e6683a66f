package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"hostshim/host"
	"hostshim/host/settings"
	"hostshim/host/state"
)

// What an import takes at most. A folder of skills has some hundred small files.
const (
	maxImportFile  = 1 << 20 // bytes
	maxImportFiles = 5000
	maxImportAll   = 64 << 20 // bytes
)

// importFolders are those of ~/.claude that are brought whole.
var importFolders = []string{"commands", "skills", "agents"}

// imported is what is to be brought: files by their names below the folder, and the MCP servers.
type imported struct {
	files   []importFile
	servers map[string]json.RawMessage
	size    int
	notes   []string // what is left out, and why
}

type importFile struct {
	name string
	text []byte
	mode fs.FileMode
}

func (in *imported) leave(what, why string) { in.notes = append(in.notes, what+": "+why) }

// importClaude brings what a person has in ~/.claude into the folders that the built-in templates keep for Claude Code: once
// it was shown and agreed to.
func importClaude(p state.Places, yes bool) int {
	in, err := findImports()
	if err != nil {
		return fail(fmt.Errorf("--import-claude: %w", err))
	}
	folders := settings.AgentFolders(settings.Claude.ConfigVar)
	fmt.Printf("\nFrom %s:\n", oneLine(claudeFolder()))
	for _, f := range in.files {
		fmt.Printf("  bring  %s\n", oneLine(f.name))
	}
	for _, name := range sortedKeys(in.servers) {
		fmt.Printf("  bring  MCP server %s\n", plain(name))
	}
	for _, note := range in.notes {
		fmt.Printf("  leave  %s\n", oneLine(note))
	}
	if len(in.files)+len(in.servers) == 0 {
		fmt.Println("  nothing to bring")
		return 0
	}
	var shown []string
	for _, folder := range folders {
		shown = append(shown, oneLine(p.AgentFolder(folder)))
	}
	if !yes && !answersYes("Copy these into "+strings.Join(shown, " and ")+"?") {
		if !isTerminal(os.Stdin) {
			return usageError("--import-claude asks first, and standard input is no terminal", "--yes brings what is shown")
		}
		fmt.Println("nothing was brought")
		return 0
	}
	for _, folder := range folders {
		if err := in.writeTo(p, folder); err != nil {
			return fail(fmt.Errorf("--import-claude: %w", err))
		}
	}
	return 0
}

// claudeFolder is the person's own.
func claudeFolder() string {
	if dir := os.Getenv(settings.Claude.ConfigVar); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(host.HomeFolder(), ".claude")
}

// claudeState is the file that holds the MCP servers.
func claudeState() string {
	if dir := os.Getenv(settings.Claude.ConfigVar); filepath.IsAbs(dir) {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(host.HomeFolder(), ".claude.json")
}

// findImports reads everything that is to be brought. It opens no link: one may lead to anything, credentials too.
func findImports() (*imported, error) {
	in := &imported{servers: map[string]json.RawMessage{}}
	root, err := os.OpenRoot(claudeFolder())
	if err == nil {
		defer root.Close()
		if err := in.settings(root); err != nil {
			return nil, err
		}
		for _, folder := range importFolders {
			if err := in.walk(root, folder); err != nil {
				return nil, err
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return in, in.mcpServers()
}

func (in *imported) walk(root *os.Root, folder string) error {
	if info, err := root.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 { // WalkDir would go through it
		in.leave(folder, "a link")
		return nil
	}
	return fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			in.leave(name, "a link")
			return nil
		case !d.Type().IsRegular():
			in.leave(name, "no file")
			return nil
		}
		text, mode, err := readPlain(root, name)
		switch {
		case err != nil:
			return err
		case len(text) > maxImportFile:
			in.leave(name, "larger than 1 MiB")
			return nil
		case credentialFile(name) || secretValue(string(text)):
			in.leave(name, "holds what looks like a credential")
			return nil
		}
		return in.add(importFile{name, text, mode})
	})
}

func (in *imported) add(f importFile) error {
	in.files = append(in.files, f)
	if in.size += len(f.text); in.size > maxImportAll || len(in.files) > maxImportFiles {
		return fmt.Errorf("more than %d files or %d MiB: copy by hand what you want", maxImportFiles, maxImportAll>>20)
	}
	return nil
}

// readPlain reads a file that is one itself, never through a link as its last part.
func readPlain(root *os.Root, name string) (text []byte, mode fs.FileMode, err error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(before, now) || !now.Mode().IsRegular() {
		return nil, 0, errors.Join(err, fmt.Errorf("%s: changed while it was read", name))
	}
	text, err = io.ReadAll(io.LimitReader(f, maxImportFile+1))
	return text, 0o600 | now.Mode().Perm()&0o100, err
}

// writeTo brings all into one folder. What is there stays. A session writes there too, so a name in it may be a link: none
// is followed out of it, and each file is new.
func (in *imported) writeTo(p state.Places, folder string) error {
	dir, err := p.MakeAgentFolder(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range in.files {
		if err := root.MkdirAll(path.Dir(f.name), 0o700); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if err := writeInRoot(root, f.name, f.text, f.mode); errors.Is(err, fs.ErrExist) {
			fmt.Printf("  kept   %s, which is there already\n", oneLine(filepath.Join(dir, f.name)))
		} else if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return in.addServers(root, dir)
}

func writeInRoot(root *os.Root, name string, text []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		root.Remove(name)
	}
	return err
}
