package web

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/go"
)

// Denial gives the response to a request that was denied: 429, or 503 if nobody could decide.
// accept is the request's header Accept. The header has the decision's headers.
func Denial(decision sluice.Decision, accept string) (status int, header http.Header, body []byte) {
	status, title, detail := http.StatusTooManyRequests, "Too Many Requests", "Rate limit exceeded"
	if !decision.Decided || decision.Reason == "fail_closed" {
		status, title, detail = http.StatusServiceUnavailable, "Service Unavailable", "Rate limiter unavailable"
	}
	var seconds *int64
	if decision.RetryAfter != nil {
		rounded := int64((*decision.RetryAfter + time.Second - 1) / time.Second)
		seconds = &rounded
		if decision.Headers.Get("Retry-After") == "" { // such as that of a delay that is too long
			if decision.Headers = decision.Headers.Clone(); decision.Headers == nil {
				decision.Headers = http.Header{}
			}
			decision.Headers.Set("Retry-After", strconv.FormatInt(rounded, 10))
		}
	}
	header = http.Header{}
	AddHeaders(header, decision)
	header.Set("Cache-Control", "no-store")
	if prefersText(accept) {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		return status, header, []byte(detail)
	}
	header.Set("Content-Type", "application/problem+json")
	body, _ = json.Marshal(struct {
		Type       string `json:"type"`
		Title      string `json:"title"`
		Status     int    `json:"status"`
		Detail     string `json:"detail"`
		RetryAfter *int64 `json:"retry_after,omitempty"`
	}{"about:blank", title, status, detail + ".", seconds})
	return status, header, body
}

const expose = "Access-Control-Expose-Headers"

// AddHeaders adds the decision's headers to those of a response that does not have them, and names them for scripts of other origins.
func AddHeaders(header http.Header, decision sluice.Decision) {
	exposed := header.Values(expose)
	names := []string{}
	for _, line := range exposed {
		for _, name := range strings.Split(line, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	added := exposed
	for _, name := range sorted(decision.Headers) {
		if len(header.Values(name)) == 0 {
			header[name] = slices.Clone(decision.Headers[name])
		}
		if !slices.Contains(names, name) && !slices.Contains(names, "*") {
			added = append(added, name)
		}
	}
	if len(added) > len(exposed) {
		header.Set(expose, strings.Join(added, ", "))
	}
}

func sorted(header http.Header) []string {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// prefersText says whether a client would rather have text/plain than JSON.
func prefersText(accept string) bool {
	plain := quality(accept, "text", "plain")
	return plain > quality(accept, "application", "problem+json") && plain > quality(accept, "application", "json")
}

// quality is how much a client wants a type: 0 to 1. The most exact range of the header decides.
func quality(accept, kind, subtype string) float64 {
	best, exactness := 0.0, 0
	for _, part := range strings.Split(accept, ",") {
		fields := strings.Split(part, ";")
		match := 0
		switch strings.ToLower(strings.TrimSpace(fields[0])) {
		case kind + "/" + subtype:
			match = 3
		case kind + "/*":
			match = 2
		case "*/*":
			match = 1
		}
		if match <= exactness {
			continue
		}
		wanted := 1.0
		for _, parameter := range fields[1:] {
			if value, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="); found {
				if parsed, err := strconv.ParseFloat(value, 64); err == nil {
					wanted = parsed
				}
			}
		}
		best, exactness = wanted, match
	}
	return best
}
