package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"hostshim/host/server"
)

// logStyle: who starts the host on a terminal reads along; else a program does.
func logStyle() server.LogStyle {
	switch {
	case !isTerminal(os.Stderr):
		return server.JSONLines
	case os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb":
		return server.PlainLines
	}
	return server.ColoredLines
}

func serve(args []string) int {
	f := newFlags("serve")
	var shimPath string
	var debug bool
	f.StringVar(&shimPath, "shim", "", "`PATH` the shim (default: the one beside this program)")
	f.BoolVar(&debug, "debug", false, "log every line of targets' standard error, not the first 20 only")
	f.bearerFlag()
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	// Before anything is made, so that a signal always finds a host that cleans up.
	stop := make(chan os.Signal, 2)
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(stop, sig)
		}
	}
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	log, flush := server.NewLog(os.Stderr, level, logStyle())
	bearer, err := f.bearer()
	if err != nil {
		return fail(err)
	}
	places, err := f.places(shimPath)
	if err != nil {
		return fail(err)
	}
	err = server.Serve(server.Config{Places: places, Environ: os.Environ(), Log: log, Bearer: bearer}, stop)
	flush()
	if err != nil {
		return fail(err)
	}
	return 0
}
