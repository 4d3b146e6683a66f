package protect

import (
	"syscall"
)

// entries reads the names in a folder, maxNames at most.
func (l *look) entries(dir string) []entry {
	f, err := l.root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	found, _ := f.ReadDir(maxNames)
	all := make([]entry, len(found))
	for i, e := range found {
		all[i] = entry{e.Name(), e.IsDir()}
	}
	return all
}

func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
