// Package server is the long-lived host (H02): it takes launches over its socket and keeps their sessions.
package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"hostshim/host"
	"hostshim/host/credential"
	"hostshim/host/descriptors"
	"hostshim/host/llmproxy"
	"hostshim/host/settings"
	"hostshim/host/state"
	"hostshim/shim"
)

// stopWithin is how long a stop waits for sessions after the end of their shims, and for answers that are on their way.
const stopWithin = 5 * time.Second

// Config is what a long-lived host is made of.
type Config struct {
	Places  state.Places
	Environ []string // the environment that children start from
	Log     *slog.Logger
	Bearer  credential.Secret // what requests must carry; empty: none
}

// server is a long-lived host. It is complete when open returns it.
type server struct {
	Config
	host     *host.Host
	broker   *host.Broker
	sessions *registry
	events   *events
	listener *socket
	web      *http.Server
	digest   [sha256.Size]byte // of the bearer
	bodies   bodies
	shares   descriptors.Shares
	launches *descriptors.Pool // of the sessions' share
	follow   *descriptors.Pool // half of the API's share, for those who follow a session
	trust    bool              // no_new_privs tells a session's process from another
	begun    time.Time
	asked    chan struct{} // holds an element when a client asked for the end
	lock     *os.File      // host.lock, held until the process is gone: a session may outlast Serve
}

// Serve runs a long-lived host until stop gives a signal; a second one makes the end quick. It is the agenda of H02.
func Serve(config Config, stop <-chan os.Signal) error {
	s, err := open(config)
	if err != nil {
		return err
	}
	defer s.broker.Close()
	over := make(chan struct{})
	defer close(over)
	go s.tryAgain(over)
	failed := make(chan error, 1)
	go func() {
		failed <- s.web.Serve(newPeerListener(s.listener.UnixListener, s.judge, s.shares.API))
	}()
	s.Log.Info("host is ready", "socket", s.Places.Socket(), "pid", os.Getpid(), "version", shim.Version, "model_proxy", s.broker.BaseURL())
	select {
	case err = <-failed:
	case sig := <-stop:
		s.Log.Info("host stops", "signal", sig.String())
	case <-s.asked:
		s.Log.Info("host stops", "request", "POST /shutdown")
	}
	s.endSessions(stop)
	s.events.close()
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	s.listener.remove()
	s.web.Shutdown(ctx)
	s.web.Close()
	s.Log.Info("host has stopped")
	return err
}

// open makes a host that is ready to serve: the one of its state folder, with nothing left of a killed one.
func open(config Config) (s *server, err error) {
	s = &server{Config: config, digest: sha256.Sum256(config.Bearer.Reveal()), trust: !confined(), begun: time.Now(), asked: make(chan struct{}, 1),
		events: newEvents(), shares: descriptors.Own()}
	s.sessions = &registry{log: config.Log, events: s.events, byID: map[string]*session{}}
	s.launches, s.follow = descriptors.NewPool(s.shares.Sessions), descriptors.NewPool(s.shares.API/2)
	if !s.trust && config.Bearer.Empty() {
		return nil, errors.New("this host itself has no_new_privs, so the flag tells no session from another program: give a bearer with --bearer-fd")
	}
	if err := s.Places.CheckSocket(); err != nil {
		return nil, err
	}
	if _, err := s.Places.Dir(); err != nil {
		return nil, err
	}
	if s.lock, err = takeFolder(s.Places); err != nil {
		return nil, err
	}
	if _, err := s.Places.ReadyAudit(); err != nil { // launches are refused as long as this is so
		s.Log.Warn(err.Error())
	}
	s.cleanUpLost(true)
	if s.broker, err = openBroker(s.Places, s.Log); err != nil {
		return nil, err
	}
	s.host = host.New(host.Config{Places: s.Places, Environ: s.Environ, Warn: func(text string) { s.Log.Warn(text) },
		Broker: s.broker, Served: true, Start: newLauncher().start})
	pairings, err := s.broker.Handler()
	if err == nil {
		s.web = s.webServer(s.authenticate(s.handler(pairings)))
		s.listener, err = listen(s.Places.Socket())
	}
	if err != nil {
		s.broker.Close()
		return nil, err
	}
	return s, nil
}

// openBroker makes the model proxy, and opens its shared listener where the settings configure one.
func openBroker(p state.Places, log *slog.Logger) (*host.Broker, error) {
	set, warnings, err := settings.Load(p.Settings, p.Named)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	if set.LLMProxy == nil {
		return host.NewServedBroker(p, log, credential.Secret{}), nil
	}
	device, warning, err := llmproxy.DevicePairing(p.DevicePairing())
	if err != nil {
		return nil, err
	}
	if warning != "" {
		log.Warn(warning)
	}
	broker := host.NewServedBroker(p, log, device)
	if err := broker.Listen(set.LLMProxy.Listen); err != nil {
		log.Error("the model proxy is not listening", "error", err.Error()) // what needs none of it still runs (R04)
	}
	return broker, nil
}

// tryAgainEvery is how often the host tries again to remove and to write down what it could not before.
const tryAgainEvery = 10 * time.Minute

func (s *server) cleanUpLost(first bool) {
	for _, id := range s.Places.CleanUpLost(first, func(err error) { s.Log.Warn(err.Error()) }) {
		s.Log.Warn("a session was lost: its host was killed", "session", id)
	}
}

// tryAgain does so until over is closed.
func (s *server) tryAgain(over <-chan struct{}) {
	tick := time.NewTicker(tryAgainEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.cleanUpLost(false)
		case <-over:
			return
		}
	}
}

// endSessions gives every session TERM, then KILL after 3 s, or at once when hurry gives a signal.
func (s *server) endSessions(hurry <-chan os.Signal) {
	s.sessions.stop()
	over := make(chan struct{})
	go func() {
		s.sessions.live.Wait()
		close(over)
	}()
	deadline := time.NewTimer(killAfter + host.ShimWithin + stopWithin)
	defer deadline.Stop()
	for {
		select {
		case <-over:
			return
		case <-hurry:
			s.sessions.kill()
		case <-deadline.C:
			s.Log.Error("sessions are still there after their KILL")
			return
		}
	}
}
