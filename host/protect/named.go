package protect

import (
	"path/filepath"
	"strings"
)

// Named is a file or folder that a git configuration file has git read.
type Named struct {
	Key     string // as git prints it
	Path    string // absolute, or beginning with ~/
	Include bool   // it is another such file
}

// readKeys are the keys whose value is a file or folder that git reads: section and name, without the subsection. Left out
// is what holds a secret (keys, client certificates, cookies, credentials), and what is a program.
const readKeys words = " blame.ignorerevsfile commit.template core.attributesfile core.excludesfile core.hookspath diff.orderfile " +
	"fetch.skiplist format.signaturefile fsck.skiplist gpg.allowedsignersfile gpg.revocationfile http.proxysslcainfo " +
	"http.sslcainfo http.sslcapath include.path includeif.path init.templatedir mailmap.file receive.skiplist " +
	"sendemail.smtpsslcertpath "

// GitNames lists what the git configuration file at path, with the content data, has git read. The conditions of includes
// are not looked at, since the working directory can change during a session. A relative name other than an include's is
// one in the project, and left out. An error says that git itself would stop at the file.
func GitNames(path string, data []byte) (all []Named, err error) {
	settings, err := parseConfig(data)
	for _, s := range settings {
		if !readKeys.has(s.section + "." + s.name) {
			continue
		}
		n := Named{Key: s.key(), Path: strings.TrimPrefix(s.value, ":(optional)")}
		n.Include = n.Key == "include.path" || s.section == "includeif"
		if n.Include && n.Path != "" && !filepath.IsAbs(n.Path) && !strings.HasPrefix(n.Path, "~") {
			n.Path = filepath.Join(filepath.Dir(path), n.Path)
		}
		if filepath.IsAbs(n.Path) || strings.HasPrefix(n.Path, "~/") {
			all = append(all, n)
		}
	}
	return all, err
}
