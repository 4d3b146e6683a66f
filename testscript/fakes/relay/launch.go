package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// answer is POST /launch's 201, by the names that relay's clients read.
type answer struct {
	SessionID string `json:"session_id"`
	RootPID   *int   `json:"root_pid"`
	Body      struct {
		TerminalID *string         `json:"terminalId"`
		TemplateID *string         `json:"templateId"`
		Host       json.RawMessage `json:"host"`
		SessionID  *string         `json:"sessionId"`
		ProjectID  *string         `json:"projectId"`
		Model      *string         `json:"model"`
		Name       *string         `json:"name"`
		Directory  *string         `json:"directory"`
	} `json:"body"`
}

// launch sends the request while the bridge waits for the identity that it carries.
func launch(r *request) error {
	b, err := openBridge(r.SessionID, r.Identity.Secret)
	if err != nil {
		return err
	}
	defer b.close()
	status, body, err := post("/launch", r)
	if err != nil {
		return err
	}
	fmt.Println("status:", status)
	if status != http.StatusCreated {
		fmt.Printf("answer: %s\n", bytes.TrimSpace(body))
		return nil
	}
	fmt.Println("hello:", b.said())
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	fmt.Println("session:", a.SessionID)
	return a.show(r, body)
}

// show prints what relay's clients take out of the answer. The complexity: one case a member.
func (a *answer) show(r *request, body []byte) error {
	v := a.Body
	missing := a.RootPID == nil || v.Name == nil || v.Directory == nil || a.SessionID != r.SessionID
	if r.Kind == "pty" {
		if missing || v.TerminalID == nil || v.TemplateID == nil || string(v.Host) != "null" || *a.RootPID < 2 {
			return fmt.Errorf("no terminal that relay can show: %s", body)
		}
		fmt.Printf("terminal: %t template %s name %q in %s\n", *v.TerminalID == r.SessionID, *v.TemplateID, *v.Name, *v.Directory)
		return nil
	}
	if missing || v.SessionID == nil || v.ProjectID == nil || v.Model == nil || *a.RootPID != 0 {
		return fmt.Errorf("no session that relay can show: %s", body)
	}
	fmt.Printf("conversation: %t project %s model %s name %q in %s\n", *v.SessionID == r.SessionID, *v.ProjectID, *v.Model, *v.Name, *v.Directory)
	return nil
}

// post is relay's client: HTTP over the socket, a connection a request.
func post(path string, body any) (status int, answer []byte, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	q, err := http.NewRequest(http.MethodPost, "http://relay-sessions"+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	if *trace != "" {
		q.Header.Set("X-Trace-Id", *trace)
	}
	if *bearerFile != "" {
		bearer, err := os.ReadFile(*bearerFile)
		if err != nil {
			return 0, nil, err
		}
		q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(bearer)))
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", *socket)
	}}
	res, err := transport.RoundTrip(q)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, answer, err
}
