package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// linkedNeeds finds packages of work that are links to another place: those that pnpm keeps in a store, by the store; one that
// a person linked, by itself. What a link leads to must be a package of the link's name.
func linkedNeeds(work string) (needs []need) {
	folder := filepath.Join(work, packageFolder)
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY, 0) // a pipe of that name would hold the launch up for ever
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxLinked) // as far as it can be read
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 || len(needs) == maxNeeds {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if to, err := os.Readlink(path); err != nil || !filepath.IsAbs(to) && strings.HasPrefix(filepath.Join(folder, to), work+"/") {
			continue // inside, as nearly all are
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || strings.HasPrefix(real, work+"/") || !printable(real) || !isPackage(real, e.Name()) {
			continue
		}
		n := need{what: "a link in " + packageFolder + " leads to", path: real}
		if store := storeOf(real, e.Name()); store != "" {
			n = need{what: "pnpm keeps packages of this folder in", path: store}
		}
		if !slices.Contains(needs, n) {
			needs = append(needs, n)
		}
	}
	return needs
}

// isPackage says whether the folder dir is the package name.
func isPackage(dir, name string) bool {
	var p struct {
		Name string `json:"name"`
	}
	data, err := readUpTo(filepath.Join(dir, "package.json"), maxPackage)
	return err == nil && json.Unmarshal(data, &p) == nil && p.Name == name
}

// storeOf is the folder in which pnpm keeps all packages, where path is one of them: STORE/…/node_modules/NAME.
func storeOf(path, name string) string {
	inner, ok := strings.CutSuffix(path, "/"+packageFolder+"/"+name)
	for _, mark := range []string{"/.pnpm", "/links"} {
		if i := strings.LastIndex(inner, mark+"/"); ok && i > 0 {
			return inner[:i+len(mark)]
		}
	}
	return ""
}
