package client

import (
	"testing"
	"time"
)

// A deaf host is given up on after 10 s (H15). A launch may take as long by itself (H04), and what ends it a while more.
func TestNumbersOfTheRules(t *testing.T) {
	if answerWithin != 10*time.Second || launchWithin != 30*time.Second {
		t.Errorf("%v to answer, %v to launch", answerWithin, launchWithin)
	}
}
