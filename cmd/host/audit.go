package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hostshim/host/state"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

func audit(args []string) int {
	f := newFlags("audit")
	asJSON := f.Bool("json", false, "print the rows as they are, one JSON object a line")
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places("")
	if err != nil {
		return fail(err)
	}
	file, err := os.Open(places.AuditFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0
	} else if err != nil {
		return fail(err)
	}
	defer file.Close()
	if *asJSON {
		w := bufio.NewWriter(os.Stdout)
		bad := state.ReadRows(file, func(line []byte, _ state.Row) error {
			_, err := fmt.Fprintf(w, "%s\n", line)
			return err
		})
		if err := errors.Join(w.Flush(), bad); err != nil {
			return fail(err)
		}
		return 0
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME\tEVENT\tOUTCOME\tSESSION\tKIND\tTEMPLATE\tCREDENTIAL\tDIRECTORY\tERROR")
	bad := state.ReadRows(file, func(_ []byte, r state.Row) error {
		_, err := fmt.Fprintf(w, "%.19s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(r.Time), plain(r.Event), plain(r.Outcome),
			plain(r.SessionID), plain(r.Kind), plain(r.TemplateID), plain(credentialCell(r.Credential, r.PairingID)), plain(r.Directory), plain(r.Error))
		return err
	})
	if err := errors.Join(w.Flush(), bad); err != nil {
		return fail(err)
	}
	return 0
}

// plain is text that stays in its column: whoever asked for a launch chose some of it, and must not write to the
// terminal of who reads the rows.
func plain(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return cmp.Or(text, "-")
}
