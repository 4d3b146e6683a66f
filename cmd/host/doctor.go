package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostshim/host/doctor"
	"hostshim/shim"
)

// insideCommand is not for people: host doctor runs it as the sandboxed target.
const insideCommand = "doctor-inside"

func runDoctor(args []string) int {
	f := newFlags("doctor")
	var shimPath string
	f.StringVar(&shimPath, "shim", "", "`PATH` the shim (default: the one beside this program)")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := f.parse(args, 0); !ok {
		return code
	}
	places, err := f.places(shimPath)
	if err != nil {
		return fail(err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	checks, err := doctor.Run(doctor.Config{Places: places, Path: os.Getenv("PATH"), Host: self, Inside: []string{self, insideCommand}})
	if err != nil {
		return fail(err)
	}
	status := 0
	for i := range checks {
		c := &checks[i]
		c.Detail, c.Cure = inOwnName(c.Detail), inOwnName(c.Cure)
		if c.Result == doctor.CheckFail {
			status = 1
		}
		if !*asJSON {
			fmt.Printf("%-4s  %s: %s\n", c.Result, c.Name, c.Detail)
			if c.Cure != "" {
				fmt.Printf("      cure: %s\n", c.Cure)
			}
		}
	}
	if *asJSON {
		printJSON(map[string][]doctor.Check{"checks": checks})
	}
	return status
}

// doctorInside says what a target finds: see doctor.Inside.
func doctorInside(args []string) int {
	if len(args) == 2 && args[0] == "model" {
		return doctorInsideModel(args[1])
	} else if len(args) == 2 && args[0] == "none" {
		return report(doctor.InsideModel{Other: reached(args[1])})
	} else if len(args) != 1 {
		return shim.ExitUsage
	}
	found := doctor.Inside{Variable: os.Getenv(shim.EnvTokenFD), Table: descriptors(), Kind: "other"}
	var st unix.Stat_t
	if unix.Fstat(shim.TokenFD, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		found.Kind = "pipe"
	}
	token, err := os.ReadFile("/dev/fd/" + strconv.Itoa(shim.TokenFD))
	found.Sum = fmt.Sprintf("%x", sha256.Sum256(token))
	if err != nil {
		found.Sum = words(err)
	}
	clear(token)
	n, err := unix.Read(shim.TokenFD, make([]byte, 1))
	if found.Again = "data"; n == 0 && err == nil {
		found.Again = io.EOF.Error()
	} else if err != nil {
		found.Again = words(err)
	}
	file, err := os.Open(args[0])
	if found.Deny = words(err); err == nil {
		found.Deny = "it opens"
		file.Close()
	}
	_, err = os.ReadDir(".")
	found.List = words(err)
	return report(found)
}

// descriptors lists what came through exec: the language runtime's own are close-on-exec.
func descriptors() string {
	var open []string
	for fd := range 1024 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			open = append(open, strconv.Itoa(fd))
		}
	}
	return strings.Join(open, " ")
}

// words is an error without the path and the call that it is about.
func words(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return errno.Error()
	}
	return err.Error()
}

// doctorInsideModel says what a brokered target finds: see doctor.InsideModel. Past is an address that only an open
// network reaches.
func doctorInsideModel(past string) int {
	pairing, err := os.ReadFile("/dev/fd/" + strconv.Itoa(shim.TokenFD))
	if err != nil {
		return 1
	}
	found := doctor.InsideModel{Sum: fmt.Sprintf("%x", sha256.Sum256(pairing))}
	found.Answer = askModel(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", string(pairing))
	found.Other = reached(past)
	return report(found)
}

func report(found any) int {
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		return 1
	}
	return 0
}

func reached(address string) string {
	if answers(address) {
		return "it answers"
	}
	return "refused"
}

// answers says whether anything listens at the address of url.
func answers(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// askModel is the answer to one request, "" for none.
func askModel(address, bearer string) string {
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		return ""
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	// No proxy of the environment's: what is tried is this machine alone.
	client := http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	res, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	return string(text)
}
