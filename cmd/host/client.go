package main

import (
	"errors"
	"fmt"
	"strconv"

	"hostshim/host/client"
	"hostshim/host/credential"
	"hostshim/host/settings"
	"hostshim/host/wire"
)

// bearerFlag adds --bearer-fd, for both ends of the socket.
func (f *flags) bearerFlag() {
	f.bearerFD = -1
	f.Func("bearer-fd", "`N`: read the bearer that requests must carry from this descriptor", func(v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return errors.New("want a descriptor's number")
		}
		f.bearerFD = int(n)
		return nil
	})
}

func (f *flags) bearer() (credential.Secret, error) {
	if f.bearerFD < 0 {
		return credential.Secret{}, nil
	}
	return credential.ReadBearer(f.bearerFD)
}

// client finds the running host of the state folder.
func (f *flags) client() (*client.Client, error) {
	bearer, err := f.bearer()
	if err != nil {
		return nil, err
	}
	places, err := f.places("")
	if err != nil {
		return nil, err
	}
	return client.New(places, bearer)
}

// connect is the start of a command that talks to the running host: its flags, its arguments, its client. It is
// done when ok is false.
func (f *flags) connect(args []string, positional int) (c *client.Client, code int, ok bool) {
	f.bearerFlag()
	if code, ok := f.parse(args, positional); !ok {
		return nil, code, false
	}
	c, err := f.client()
	if err != nil {
		return nil, fail(err), false
	}
	return c, 0, true
}

func stop(args []string) int {
	f := newFlags("stop")
	reason := f.String("reason", called()+" stop", "`TEXT` for the host's log")
	c, code, ok := f.connect(args, 1)
	if !ok {
		return code
	}
	// POST /terminate takes an unknown id too; a person who mistyped one wants to know.
	v, code, ok := find(c, f.Arg(0))
	if !ok {
		return code
	}
	if err := c.Terminate(v.SessionID, *reason); err != nil {
		return fail(err)
	}
	return 0
}

// find is the session that a person named. It is done when ok is false.
func find(c *client.Client, word string) (v wire.Session, code int, ok bool) {
	v, err := c.Find(word)
	if err == nil {
		return v, 0, true
	}
	code = fail(err)
	var unknown *wire.Error
	if all, listed := c.Sessions(); listed == nil && errors.As(err, &unknown) && unknown.Code == wire.SessionUnknown {
		hintSession(word, all)
	}
	return v, code, false
}

// hintSession names the session that was probably meant.
func hintSession(word string, all []wire.Session) {
	var words []string
	for _, s := range all {
		if words = append(words, s.SessionID); s.Name != "" {
			words = append(words, s.Name)
		}
	}
	if near := settings.Near(word, words); near != "" {
		hint(fmt.Sprintf("the nearest is %q", near))
	} else {
		hint(called() + " ps -a lists them")
	}
}

func shutdown(args []string) int {
	f := newFlags("shutdown")
	c, code, ok := f.connect(args, 0)
	if !ok {
		return code
	}
	if err := c.Shutdown(); err != nil {
		return fail(err)
	}
	return 0
}

// exitStatus is how a command ends that saw a session to its end.
func exitStatus(v wire.Session) int {
	if v.ExitStatus == nil {
		return 0
	}
	return *v.ExitStatus
}
