package main

import (
	"cmp"
	"fmt"
	"os"
	"text/tabwriter"

	"hostshim/host/wire"
)

func ps(args []string) int {
	f := newFlags("ps")
	asJSON := f.Bool("json", false, "print JSON")
	c, code, ok := f.connect(args, 0)
	if !ok {
		return code
	}
	sessions, err := c.Sessions()
	if err != nil {
		return fail(err)
	}
	if *asJSON {
		return printJSON(map[string][]wire.Session{"sessions": sessions})
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tKIND\tTEMPLATE\tSTATE\tCREDENTIAL\tSHIM\tDIRECTORY\tNAME")
	for _, s := range sessions {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%q\t%q\n", s.SessionID, s.Kind, cmp.Or(s.TemplateID, "-"), sessionState(s),
			credentialCell(s.Credential, s.PairingID), s.RootPID, s.Directory, s.Name)
	}
	if err := w.Flush(); err != nil {
		return fail(err)
	}
	return 0
}

// credentialCell is what a session got, and of a pairing which: its id is in the model proxy's log lines.
func credentialCell(credential, pairingID string) string {
	if pairingID != "" {
		return credential + ":" + pairingID
	}
	return cmp.Or(credential, "-")
}

// sessionState is a session's state, and how it ended.
func sessionState(s wire.Session) string {
	switch {
	case s.State != wire.StateEnded:
		return s.State
	case s.Signal != 0:
		return fmt.Sprintf("%s (signal %d)", s.Reason, s.Signal)
	}
	return fmt.Sprintf("%s (%d)", s.Reason, exitStatus(s))
}
