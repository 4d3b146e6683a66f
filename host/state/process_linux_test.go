package state

import (
	"os"
	"testing"
)

func TestProcessOf(t *testing.T) {
	me, err := ProcessOf(os.Getpid())
	again, err2 := ProcessOf(os.Getpid())
	if err != nil || err2 != nil || me != again || me.Parent != os.Getppid() || me.Start == "" {
		t.Errorf("%+v, %+v, %v, %v", me, again, err, err2)
	}
	if _, err := ProcessOf(1 << 30); err == nil {
		t.Error("a process that is not there was found")
	}
}

func FuzzStat(f *testing.F) {
	stat, _ := os.ReadFile("/proc/self/stat")
	f.Add(stat)
	f.Add([]byte("1 (a) b) S 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24"))
	f.Add([]byte("(("))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, err := parseStat(stat); err == nil && p.Start == "" {
			t.Errorf("%q has no start: %+v", stat, p)
		}
	})
}
