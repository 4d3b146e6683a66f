package llmproxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"hostshim/host/reach"
)

// A tunnel to port 443 must begin with a TLS ClientHello for the host that it was opened for (N03): a server that answers
// for many names must not be asked for another one. crypto/tls reads the message, and what was read goes on unchanged.

// maxHello bounds a ClientHello, with what comes in one piece with it. Ordinary ones have at most 2 KiB.
const maxHello = 16 << 10

// extensionECH encrypts the name that is really asked for (RFC 9849). Nobody can tell it from a meaningless one.
const extensionECH = 0xfe0d

// Why a tunnel to port 443 ended before it began.
const (
	helloInvalid   = "tls_invalid"          // not a ClientHello in one record
	helloSlow      = "tls_timeout"          // not within helloTimeout
	helloName      = "tls_name_not_allowed" // for another name, or none
	helloEncrypted = "tls_name_encrypted"   // ECH
)

// TLS alerts, as a record each, for clients that would wait, or would not know why.
var alerts = map[string][]byte{
	helloInvalid:   {21, 3, 1, 0, 2, 2, 50},  // decode_error
	helloSlow:      {21, 3, 1, 0, 2, 2, 90},  // user_canceled
	helloName:      {21, 3, 1, 0, 2, 2, 112}, // unrecognized_name
	helloEncrypted: {21, 3, 1, 0, 2, 2, 112},
}

// recorder is a connection from which a handshake is read and to which nothing is written.
type recorder struct {
	net.Conn
	source io.Reader
	seen   []byte
}

func (r *recorder) Read(b []byte) (int, error) {
	room := maxHello - len(r.seen)
	if room <= 0 {
		return 0, errHelloSize
	}
	n, err := r.source.Read(b[:min(len(b), room)])
	r.seen = append(r.seen, b[:n]...)
	return n, err
}

func (r *recorder) Write(b []byte) (int, error) { return len(b), nil } // an alert

var (
	errHelloSize = errors.New("the ClientHello is too large")
	errHelloRead = errors.New("the ClientHello is read")
)

// readHello reads a ClientHello and returns all that was read. It must be for the host, whose name is not empty unless
// it is an address. An empty code with an error: the client left.
func readHello(c net.Conn, source io.Reader, h reach.Host) (seen []byte, code string, err error) {
	r := &recorder{Conn: c, source: source}
	var hello *tls.ClientHelloInfo
	err = tls.Server(r, &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = info
		return nil, errHelloRead
	}}).Handshake()
	switch {
	case hello == nil && errors.Is(err, os.ErrDeadlineExceeded):
		return nil, helloSlow, err
	case hello == nil && len(r.seen) == 0:
		return nil, "", err
	case hello == nil || !inOneRecord(r.seen):
		return nil, helloInvalid, err
	case slices.Contains(hello.Extensions, extensionECH):
		return nil, helloEncrypted, err
	case !strings.EqualFold(hello.ServerName, h.Name):
		return nil, helloName, err
	}
	return r.seen, "", nil
}

// inOneRecord says whether the first record holds the whole message. A server need not put it together the way that
// crypto/tls does.
func inOneRecord(seen []byte) bool {
	const recordHeader, messageHeader = 5, 4
	if len(seen) < recordHeader+messageHeader {
		return false
	}
	record := int(seen[3])<<8 | int(seen[4])
	message := int(seen[6])<<16 | int(seen[7])<<8 | int(seen[8])
	return record >= messageHeader+message && bytes.HasPrefix(seen, []byte{22, 3})
}
