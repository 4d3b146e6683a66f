package state

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Of launches that are the first ones at the same time each finds the host's folders, whoever made them.
func TestX15FoldersAreMadeByManyAtOnce(t *testing.T) {
	base := t.TempDir()
	for round := range 100 {
		p := Places{State: filepath.Join(base, fmt.Sprint(round), "state", "relay-host")}
		var all sync.WaitGroup
		begin := make(chan bool)
		for range 8 {
			all.Go(func() {
				<-begin
				if _, err := p.Dir("sessions"); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
	}
}
