package state

import (
	"io/fs"
	"os"
)

// RemoveTree removes a session's temporary folder, also where the session took its own rights to folders in it. The
// session wrote that folder, so nothing in it may lead out of it.
func RemoveTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil { // the session cannot write the folder above, so this is no link
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			root.Chmod(path, 0o700) // before the walk reads it
		}
		return nil
	})
	return os.RemoveAll(dir)
}
