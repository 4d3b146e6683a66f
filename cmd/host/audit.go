package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"hostshim/host"
)

func audit(args []string) int {
	f := newFlags("audit")
	asJSON := f.Bool("json", false, "print the rows as they are, one JSON object a line")
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	h, err := f.open("")
	if err != nil {
		return fail(err)
	}
	file, err := os.Open(h.Places.AuditFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0
	} else if err != nil {
		return fail(err)
	}
	defer file.Close()
	if *asJSON {
		if _, err := io.Copy(os.Stdout, file); err != nil {
			return fail(err)
		}
		return 0
	}
	rows, err := host.ReadRows(file)
	if err != nil {
		return fail(err)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME\tEVENT\tOUTCOME\tSESSION\tKIND\tTEMPLATE\tCREDENTIAL\tDIRECTORY\tERROR")
	for _, r := range rows {
		fmt.Fprintf(w, "%.19s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Time, r.Event, r.Outcome, cmp.Or(r.SessionID, "-"),
			cmp.Or(r.Kind, "-"), cmp.Or(r.TemplateID, "-"), cmp.Or(r.Credential, "-"), cmp.Or(r.Directory, "-"), r.Error)
	}
	if err := w.Flush(); err != nil {
		return fail(err)
	}
	return 0
}
