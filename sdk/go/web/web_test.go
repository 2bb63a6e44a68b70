package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicetest"
)

func TestEndpointsOfPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"/users/:id": "/users/{id}", "/users/:id/posts/:post_id": "/users/{id}/posts/{post_id}", "/files/*": "/files/{path}", "/files/*rest": "/files/{rest}",
		"/v/:id<int;min(1)>": "/v/{id}", "/v/:id?": "/v/{id}", "/flights/:from-:to": "/flights/{from}-{to}", "/a/+": "/a/{path}", `/v1\:batch`: "/v1:batch", "/": "/",
		"/x/*1": "/x/{path}",
	} {
		if got := Colons(pattern); got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
	for pattern, want := range map[string]string{
		"/users/{id}": "/users/{id}", `/users/{id:\d{1,3}}/x`: "/users/{id}/x", "/files/*": "/files/{path}", "/files/{rest...}": "/files/{rest}", "/{$}": "/",
		"/{a}.{b}": "/{a}.{b}", "/broken{": "/broken{",
	} {
		if got := Braces(pattern); got != want {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}

func TestSubjectsOfAddresses(t *testing.T) {
	for address, want := range map[string][2]string{
		"203.0.113.7:80": {"ip:203.0.113.7", "203.0.113.7"}, "203.0.113.7": {"ip:203.0.113.7", "203.0.113.7"},
		"[::ffff:203.0.113.7]:80": {"ip:203.0.113.7", "203.0.113.7"}, "[2001:db8:1:2:3:4:5:6]:80": {"ip:2001:db8:1:2::/64", "2001:db8:1:2:3:4:5:6"},
		"fe80::1%eth0": {"ip:fe80::/64", "fe80::1"}, "@": {"ip:unknown", ""}, "": {"ip:unknown", ""},
	} {
		if subject, whole := subjects(address); subject != want[0] || whole != want[1] {
			t.Errorf("%s: %s %s", address, subject, whole)
		}
	}
}

func TestValuesThatAnAgentWouldRefuseAreHashed(t *testing.T) {
	for _, value := range []string{"", strings.Repeat("x", 256), strings.Repeat("é", 128), "user:42 äöü"} {
		if fit(value) != value {
			t.Errorf("%q is hashed", value)
		}
	}
	double := sluicetest.AlwaysAllow()
	for i, value := range []string{strings.Repeat("x", 257), strings.Repeat("é", 129), "a\xff", "a\xfe"} {
		guard := New(double.Client, Options[string]{Key: func(request string) string { return request }})
		if _, err := guard.Enter(context.Background(), value, Facts{Method: value, Endpoint: "/{id}", Address: "203.0.113.7"}); err != nil {
			t.Fatal(err)
		}
		check := double.Checks()[i]
		for _, found := range []string{check.Subject, check.Method, check.Resource} {
			if !strings.HasPrefix(found, "sha256:") || len(found) != 71 {
				t.Errorf("%q", found)
			}
		}
	}
	if checks := double.Checks(); checks[2].Subject == checks[3].Subject {
		t.Error("two values share a hash")
	}
}

func TestDenials(t *testing.T) {
	after := 1200 * time.Millisecond
	status, header, body := Denial(sluice.Decision{Decided: true, Reason: "limit_exceeded", RetryAfter: &after}, "")
	if status != 429 || header.Get("Retry-After") != "2" || header.Get(expose) != "Retry-After" || string(body) != `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"Rate limit exceeded.","retry_after":2}` {
		t.Errorf("%d %v %s", status, header, body)
	}
	for _, decision := range []sluice.Decision{{Decided: true, Reason: "fail_closed"}, {Reason: "error"}} {
		status, header, body = Denial(decision, "text/*")
		if status != 503 || header.Get("Retry-After") != "" || string(body) != "Rate limiter unavailable" {
			t.Errorf("%d %v %s", status, header, body)
		}
	}
}

func TestTheLeaseOfAClientThatLeavesDuringTheCheckIsGivenBack(t *testing.T) {
	ctx, leave := context.WithCancel(context.Background())
	paths := make(chan string, 10)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		if r.URL.Path == "/v1/check" {
			leave() // and only then the agent answers
			_, _ = w.Write([]byte(`{"allowed":true,"lease_id":"lease-1","lease_expires_at":4102444800}`))
			return
		}
		_, _ = w.Write([]byte(`{"released":true}`))
	}))
	t.Cleanup(agent.Close)
	client, err := sluice.New(sluice.WithURL(agent.URL), sluice.WithTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	pass, err := New(client, Options[string]{}).Enter(ctx, "", Facts{Method: "GET", Endpoint: "/", Address: "203.0.113.7"})
	if pass != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", pass, err)
	}
	for _, want := range []string{"/v1/check", "/v1/release"} {
		select {
		case got := <-paths:
			if got != want {
				t.Errorf("%s, not %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no call of %s", want)
		}
	}
	if _, err := New(client, Options[string]{}).Enter(ctx, "", Facts{Method: "GET", Endpoint: "/"}); !errors.Is(err, context.Canceled) || len(paths) > 0 {
		t.Errorf("%v, %d calls", err, len(paths))
	}
}

func TestHeadersAreExposedOnce(t *testing.T) {
	decision := sluice.Decision{Headers: http.Header{"X-Ratelimit-Limit": {"1"}, "Ratelimit": {"x"}}}
	for before, want := range map[string]string{
		"": "Ratelimit, X-Ratelimit-Limit", "X-Mine, x-ratelimit-limit": "X-Mine, x-ratelimit-limit, Ratelimit", "*": "*",
	} {
		header := http.Header{}
		if before != "" {
			header.Set(expose, before)
		}
		AddHeaders(header, decision)
		AddHeaders(header, decision)
		if got := header.Get(expose); got != want || len(header.Values("Ratelimit")) != 1 {
			t.Errorf("%q: %q", before, got)
		}
	}
}
