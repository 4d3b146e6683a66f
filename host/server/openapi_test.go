package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hostshim/host"
	"hostshim/host/credential"
	"hostshim/host/descriptors"
	"hostshim/host/state"
	"hostshim/host/wire"
	"hostshim/shim"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

type schema = map[string]any

// operation is what docs/openapi.json says of a route, beside what its pattern says.
type operation struct {
	summary string
	query   map[string]string // parameter: its type
	body    any               // of the request: a schema's name, or a media type's
	status  int
	answer  any // likewise; nil: none
	codes   []string
}

const (
	octets = "application/octet-stream"
	stream = "text/event-stream"
)

// operations is every route of docs/openapi.json, the pairing routes too.
var operations = map[string]operation{
	"POST /launch": {summary: "Start a session, and answer once its target runs", body: "Launch", status: 201, answer: "Launched",
		codes: []string{wire.InvalidSpec, wire.SandboxUnavailable, wire.SessionExists, wire.NotHeld, wire.TooLarge, wire.IdentityRefused, wire.SpawnFailed, wire.Stopping}},
	"POST /terminate":    {summary: "End a session, if there is such a one", body: "Terminate", status: 204, codes: []string{wire.TooLarge, wire.Stopping}},
	"GET /sessions":      {summary: "List the sessions, oldest first", status: 200, answer: "Sessions", codes: []string{wire.InvalidSpec}},
	"GET /sessions/{id}": {summary: "Show a session", status: 200, answer: "Session", codes: []string{wire.InvalidSpec, wire.SessionUnknown}},
	"GET /sessions/{id}/log": {summary: "Show the last 100 KiB of a session's output, from byte since on, or follow it", query: map[string]string{"follow": "boolean", "since": "integer"},
		status: 200, answer: octets, codes: []string{wire.InvalidSpec, wire.SessionUnknown, wire.Stopping}},
	"GET /sessions/{id}/attach": {summary: "Turn the connection into raw output and input", status: 101, codes: []string{wire.InvalidSpec, wire.SessionUnknown, wire.NotPossible, wire.Stopping}},
	"POST /sessions/{id}/input": {summary: "Give a session input", query: map[string]string{"eof": "boolean"}, body: octets, status: 204,
		codes: []string{wire.InvalidSpec, wire.SessionUnknown, wire.SessionEnded, wire.NotPossible, wire.TooLarge, wire.Stopping}},
	"POST /sessions/{id}/resize": {summary: "Set the size of a session's terminal", body: "Size", status: 204,
		codes: []string{wire.InvalidSpec, wire.SessionUnknown, wire.SessionEnded, wire.NotPossible, wire.TooLarge, wire.Stopping}},
	"GET /events": {summary: "Follow what happens to the sessions: events launch, attention, end with an Event as their data, and reset with a Reset", query: map[string]string{"last_event_id": "string"},
		status: 200, answer: stream, codes: []string{wire.InvalidSpec, wire.TooMany, wire.Stopping}},
	"GET /status":    {summary: "Show the running host", status: 200, answer: "Host", codes: []string{wire.InvalidSpec}},
	"POST /shutdown": {summary: "End the host and its sessions", status: 202, codes: []string{wire.InvalidSpec, wire.TooLarge, wire.Stopping}},

	"POST /v1/llm-proxy/sessions": {summary: "Make a pairing for the model proxy", body: "PairingRequest", status: 201, answer: "Pairing",
		codes: []string{wire.InvalidSpec, wire.NotListening, wire.TooMany}},
	"GET /v1/llm-proxy/sessions":         {summary: "List the live pairings, without their values", status: 200, answer: "Pairings", codes: []string{wire.InvalidSpec}},
	"DELETE /v1/llm-proxy/sessions/{id}": {summary: "End a pairing", status: 204, codes: []string{wire.NotFound}},
}

// schemas are the structs that both ends share, and the requests of which the host reads more than its own client sends.
func schemas() map[string]any {
	all := map[string]any{}
	for _, v := range []any{wire.Launched{}, wire.Session{}, wire.Sessions{}, wire.Terminate{}, wire.Size{}, wire.Event{}, wire.Reset{}, wire.Host{}, wire.Error{}, wire.Pairing{}, wire.Pairings{}} {
		all[reflect.TypeOf(v).Name()] = schemaOf(reflect.TypeOf(v))
	}
	all["Terminate"].(schema)["required"] = []string{"session_id"}
	text, list, number, yes := schema{"type": "string"}, schema{"type": "array", "items": schema{"type": "string"}}, schema{"type": "integer"}, schema{"type": "boolean"}
	object := func(p schema) schema { return schema{"type": "object", "properties": p} }
	all["Launch"] = schema{"type": "object", "required": []string{"v", "session_id", "kind"}, "properties": schema{
		"v": schema{"const": 1}, "session_id": text, "kind": schema{"enum": []string{wire.KindPty, wire.KindClaude, wire.KindPi, wire.KindCodex}},
		"directory": text, "resume": yes, "argv": list, "extra_args": list, "template_id": text, "env": schema{"type": "object", "additionalProperties": text},
		"name": text, "project": schema{"properties": schema{"id": text, "path": text}}, "pty": object(schema{"cols": number, "rows": number}), "idle_timeout_sec": number, "host": schema{}, "drop_in_for": schema{},
		"sandbox": object(schema{"profile_path": text}), "identity": object(schema{"secret": text}), "model_key": text, "claude_token": text,
		"credential": schema{"enum": wire.Credentials}, "by_hand": yes, "session_request": schema{"type": "object"},
	}}
	all["PairingRequest"] = schema{"type": "object", "required": []string{"clientId"}, "properties": schema{"clientId": text, "idleTimeoutSeconds": number}}
	return all
}

func schemaOf(t reflect.Type) schema {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	}
	properties, required := schema{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			continue
		}
		properties[name] = schemaOf(f.Type)
		if f.Name == "Host" {
			properties[name] = schema{"type": "null"}
		}
		inPointer := len(f.Index) > 1 && t.Field(f.Index[0]).Type.Kind() == reflect.Pointer
		if options != "omitempty" && !inPointer && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

func content(what any) schema {
	media, of := "application/json", schema{"$ref": fmt.Sprintf("#/components/schemas/%v", what)}
	if what == octets || what == stream {
		media, of = what.(string), schema{"type": "string"}
	}
	return schema{media: schema{"schema": of}}
}

// described is an operation as the document has it.
func (o operation) described(pattern string) schema {
	pairing := strings.Contains(pattern, pairingRoutes)
	answers := schema{"401": schema{"description": "the bearer is missing or wrong"}, "403": schema{"description": "the caller is another user, or belongs to a session"}}
	ok := schema{"description": http.StatusText(o.status)}
	if o.answer != nil {
		ok["content"] = content(o.answer)
	}
	answers[strconv.Itoa(o.status)] = ok
	for _, code := range o.codes {
		status := strconv.Itoa(statusOf(code))
		if a, ok := answers[status].(schema); ok {
			a["description"] = a["description"].(string) + ", " + code
			continue
		}
		a := schema{"description": code, "content": content("Error")}
		if pairing {
			a["content"].(schema)["text/plain"] = schema{"schema": schema{"type": "string"}}
		}
		answers[status] = a
	}
	if o.status == http.StatusSwitchingProtocols {
		answers["426"] = schema{"description": wire.InvalidSpec, "content": content("Error")}
	}
	d := schema{"summary": o.summary, "responses": answers}
	var parameters []schema
	if strings.Contains(pattern, "{id}") {
		parameters = append(parameters, schema{"name": "id", "in": "path", "required": true, "schema": schema{"type": "string"}})
	}
	for _, name := range slices.Sorted(maps.Keys(o.query)) {
		parameters = append(parameters, schema{"name": name, "in": "query", "schema": schema{"type": o.query[name]}})
	}
	if parameters != nil {
		d["parameters"] = parameters
	}
	if o.body != nil {
		d["requestBody"] = schema{"content": content(o.body)}
	}
	return d
}

func document(t *testing.T) []byte {
	paths := schema{}
	for pattern, o := range operations {
		method, path, _ := strings.Cut(pattern, " ")
		if paths[path] == nil {
			paths[path] = schema{}
		}
		paths[path].(schema)[strings.ToLower(method)] = o.described(pattern)
	}
	text, err := json.MarshalIndent(schema{
		"openapi": "3.1.0",
		"info":    schema{"title": "host serve", "version": shim.Version, "description": "The routes of the socket host.sock; docs/routes.md says what they mean."},
		"servers": []schema{{"url": "http://host", "description": "over the Unix socket host.sock in the host's state folder"}},
		"paths":   paths,
		"components": schema{"schemas": schemas(),
			"securitySchemes": schema{"bearer": schema{"type": "http", "scheme": "bearer", "description": "with host serve --bearer-fd"}}},
		"security": []schema{{}, {"bearer": []string{}}},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// docs/openapi.json is made of the routes, the structs and the codes; -update writes it.
func TestH04OpenAPI(t *testing.T) {
	const file = "../../docs/openapi.json"
	want := document(t)
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("docs/openapi.json is not what the code says (%v): go test ./host/server -run OpenAPI -update", err)
	}
	routes := slices.Collect(maps.Keys((&server{}).routes()))
	for pattern := range operations {
		if !strings.Contains(pattern, pairingRoutes) && !slices.Contains(routes, pattern) {
			t.Errorf("%s is described, and no route", pattern)
		}
	}
	for _, pattern := range routes {
		if _, ok := operations[pattern]; !ok {
			t.Errorf("%s is a route, and not described", pattern)
		}
	}
	text, _ := os.ReadFile("../../docs/routes.md")
	for pattern := range operations {
		if strings.Count(string(text), pattern[strings.Index(pattern, " ")+1:]) == 0 {
			t.Errorf("docs/routes.md does not tell of %s", pattern)
		}
	}
}

// A launch request's members are those that the host reads: of another type each is refused, and each that the source
// names is described.
func TestH04OpenAPILaunch(t *testing.T) {
	all := schemas()["Launch"].(schema)["properties"].(schema)
	described, _ := json.Marshal(all)
	for name, s := range all {
		s := s.(schema)
		if wrong := `[{}]`; s["type"] != nil || s["const"] != nil || s["enum"] != nil {
			_, err := parseLaunch(fmt.Appendf(nil, `{"v":1,"session_id":"s","kind":"pi","directory":"/d","sandbox":{},%q:%s}`, name, wrong))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of a wrong type: %v", name, err)
			}
		}
	}
	source, err := os.ReadFile("request.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?:\{|take\(|has\(|text\(|o\[)"([a-z_]+)"`).FindAllSubmatch(source, -1)
	for _, m := range found {
		if !strings.Contains(string(described), `"`+string(m[1])+`":`) {
			t.Errorf("the host reads %q, which is not described", m[1])
		}
	}
	if len(found) < 20 {
		t.Errorf("found only %d members in the source", len(found))
	}
}

// Whatever a route answers is described.
func TestH04OpenAPIAnswers(t *testing.T) {
	places, err := state.Find(t.TempDir()+"/none.json", t.TempDir(), "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := &server{Config: Config{Places: places, Log: log}, asked: make(chan struct{}, 1), events: newEvents(), follow: descriptors.NewPool(100)}
	s.host = host.New(host.Config{Places: places, Warn: func(string) {}})
	s.broker = host.NewServedBroker(places, log, credential.Secret{})
	s.sessions = &registry{log: log, events: s.events, byID: map[string]*session{}}
	s.sessions.byID["s"] = &session{id: "s", log: log, shown: wire.Session{State: wire.StateEnded}}
	s.sessions.byID["s"].out.end()
	s.events.close()
	pairings, err := s.broker.Handler()
	if err != nil {
		t.Fatal(err)
	}
	handler := s.handler(pairings)
	for pattern, o := range operations {
		method, path, _ := strings.Cut(pattern, " ")
		for _, id := range []string{"s", "none"} {
			for _, query := range []string{"", "?since=x"} {
				for _, body := range []string{"", "{}", `{"v": 1}`} {
					r := httptest.NewRequest(method, strings.Replace(path, "{id}", id, 1)+query, strings.NewReader(body))
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					if o.described(pattern)["responses"].(schema)[strconv.Itoa(w.Code)] == nil {
						t.Errorf("%s of %q with %q: %d is not described: %s", pattern, id, body, w.Code, w.Body)
					}
				}
			}
		}
	}
}
