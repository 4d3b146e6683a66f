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
