package credential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Expand turns the value of a setting that names a token file into a clean absolute path: the value is
// absolute or starts with "~/" (T02). The error names the key and the value, which is a path, not a secret.
func Expand(key, value string) (string, error) {
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s %q: home folder unknown: %w", key, value, err)
		}
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%s %q: home folder %q is not absolute", key, value, home)
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
