package credential

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

var errNoHome = errors.New("HOME is no absolute path, and the user database has none for this user: set HOME")

// Home is the user's home folder, by the user database where HOME does not say.
func Home() (string, error) {
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return home, nil
	}
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir, nil
	}
	return "", errNoHome
}

// Expand turns the value of a setting that names a token file into a clean absolute path: the value is
// absolute or starts with "~/" (T02). The error names the key and the value, which is a path, not a secret.
func Expand(key, value string) (string, error) {
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := Home()
		if err != nil {
			return "", fmt.Errorf("%s %q: no home folder: %w", key, value, err)
		}
		path = home + "/" + rest
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%s %q: holds a NUL byte", key, value)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s %q: neither absolute nor under ~/", key, value)
	}
	return filepath.Clean(path), nil
}
