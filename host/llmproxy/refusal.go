package llmproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// refusal is an answer of the proxy's own, in a shape that Claude and OpenAI clients show (P07).
type refusal struct {
	status     int
	code       string
	message    string
	retryAfter int // seconds; 0: not said
}

var (
	refuseHost    = &refusal{http.StatusForbidden, "host_not_allowed", "the model proxy is reached as 127.0.0.1, [::1] or localhost only", 0}
	refuseBrowser = &refusal{http.StatusForbidden, "browser_not_allowed", "the model proxy takes no request from a web page and no CONNECT", 0}
	refuseMethod  = &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "OPTIONS and TRACE are not forwarded", 0}
	refuseUpgrade = &refusal{http.StatusBadRequest, "upgrade_not_supported", "the model proxy does not change protocols", 0}
	refusePath    = &refusal{http.StatusBadRequest, "path_invalid", "the path must start with /, and hold no .. segment, no NUL and no bad escape", 0}
	refuseStray   = &refusal{http.StatusBadRequest, "path_invalid", "the pairing belongs in a header, and stands in the method, the path or the query", 0}
	refuseRoute   = &refusal{http.StatusNotFound, "route_unknown", "no such route: the sandbox route is /sandbox/, a service's /service/ID/, spelled so", 0}
	refusePairing = &refusal{http.StatusForbidden, "pairing_invalid", "no valid pairing: missing, wrong, revoked, expired, or not for this route", 0}
)

var (
	refuseStatus  = &refusal{http.StatusBadGateway, "gateway_unreachable", "the model provider answered with a status that cannot be passed on", 0}
	refuseLimited = &refusal{http.StatusForbidden, "path_not_allowed", "the limits of this client do not allow this path with this method", 0}
	refuseKey     = &refusal{http.StatusBadRequest, "path_invalid", "a key belongs in the header x-goog-api-key, and stands in the query", 0}
	refuseTimeout = &refusal{http.StatusGatewayTimeout, "gateway_timeout", "the model provider did not answer in time", 0}
	refuseBody    = &refusal{http.StatusBadRequest, "body_invalid", "the request body is not encoded as its header says", 0}
)

func (no *refusal) body() []byte {
	kind := "invalid_request_error"
	switch {
	case no.status == http.StatusForbidden:
		kind = "permission_error"
	case no.status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
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
