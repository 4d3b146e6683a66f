package llmproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// refusal is an answer of the proxy's own, in a shape that Claude and OpenAI clients show (P07).
type refusal struct {
	status  int
	code    string
	message string
}

var (
	refuseHost    = &refusal{http.StatusForbidden, "host_not_allowed", "the model proxy is reached as 127.0.0.1, [::1] or localhost only"}
	refuseBrowser = &refusal{http.StatusForbidden, "browser_not_allowed", "the model proxy takes no request from a web page and no CONNECT"}
	refuseMethod  = &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "OPTIONS and TRACE are not forwarded"}
	refuseUpgrade = &refusal{http.StatusBadRequest, "upgrade_not_supported", "the model proxy does not change protocols"}
	refusePath    = &refusal{http.StatusBadRequest, "path_invalid", "the path must start with /, and hold no .. segment, no NUL and no bad escape"}
	refuseStray   = &refusal{http.StatusBadRequest, "path_invalid", "the pairing belongs in a header, and stands in the method, the path or the query"}
	refuseRoute   = &refusal{http.StatusNotFound, "route_unknown", "no such route: the sandbox route is /sandbox/, spelled so"}
	refusePairing = &refusal{http.StatusForbidden, "pairing_invalid", "no valid pairing: missing, wrong, revoked, expired, or not for this route"}
)

var (
	refuseStatus  = &refusal{http.StatusBadGateway, "gateway_unreachable", "the model provider answered with a status that cannot be passed on"}
	refuseTimeout = &refusal{http.StatusGatewayTimeout, "gateway_timeout", "the model provider did not answer in time"}
	refuseBody    = &refusal{http.StatusBadRequest, "body_invalid", "the request body is not encoded as its header says"}
)

func (no *refusal) body() []byte {
	kind := "invalid_request_error"
	switch {
	case no.status == http.StatusForbidden:
		kind = "permission_error"
	case no.status == http.StatusNotFound:
		kind = "not_found_error"
	case no.status == http.StatusGatewayTimeout:
		kind = "timeout_error"
	case no.status >= 500:
		kind = "api_error"
	}
	type detail struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	body, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{kind, no.code, strings.ToValidUTF8(no.message, "�")}})
	return append(body, '\n')
}

// response is the refusal as it goes over the wire, for where there is no handler to write it.
func (no *refusal) response(withBody bool) []byte {
	body := no.body()
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		no.status, http.StatusText(no.status), len(body))
	if !withBody {
		return head
	}
	return append(head, body...)
}
