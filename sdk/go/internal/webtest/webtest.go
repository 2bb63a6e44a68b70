// Package webtest is what every integration with a web framework must pass: a real application on a real server before a real agent.
package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	"sluice.dev/go/web"
)

// Hooks let the suite look into the handlers of an application.
type Hooks struct {
	entered chan struct{}
	leave   chan struct{}
}

// Work is the handler of GET /job: it works until the suite lets it end.
func (h *Hooks) Work(fail bool) {
	h.entered <- struct{}{}
	if fail {
		panic("the handler failed, as the suite wanted")
	}
	select {
	case <-h.leave:
	case <-time.After(time.Minute):
		panic("the suite did not end the handler")
	}
}

// Key is the subject of a request whose header X-User has this value.
func Key(user string) string {
	if user == "" {
		return ""
	}
	return "user:" + user
}

// Routes are the exceptions that the application has, besides its key.
func Routes[R any]() map[string]web.Route[R] {
	return map[string]web.Route[R]{
		"POST /upload": {Cost: web.Fixed[R](5)},
		"/free":        {Exempt: true},
		"GET /planned": {PlanID: "two", Resource: "planned"},
	}
}

// Serve starts the application on a port with this client, and gives its URL. Its routes, in the framework's own notation:
//
//	GET  /users/{id}      answers the id
//	GET  /files/{path}    for all paths below /files/; answers
//	POST /upload; GET /free, /shadow, /delayed, /slow, /planned   answer
//	GET  /smaller         answers the decision's DowngradeTo
//	GET  /own             sets X-RateLimit-Limit to own and Access-Control-Expose-Headers to X-Mine
//	GET  /job             calls Hooks.Work; it fails if the query has fail=1
//
// The key is Key of the header X-User, the routes are those of Routes.
type Serve func(t *testing.T, client *sluice.Client, hooks *Hooks) string

// suite is one application under test.
type suite struct {
	t     *testing.T
	url   string
	agent *testagent.Agent
	asks  *sluice.Client
	hooks *Hooks
}

type response struct {
	status int
	header http.Header
	body   string
}

// Run runs the suite.
func Run(t *testing.T, serve Serve) {
	agent := testagent.Start(t)
	hooks := &Hooks{make(chan struct{}, 10), make(chan struct{}, 10)}
	s := &suite{t, serve(t, agent.Client(t), hooks), agent, agent.Client(t), hooks}
	for name, test := range map[string]func(*suite){
		"limits by the route's pattern": (*suite).limits, "a route for all paths below": (*suite).wildcard, "no route": (*suite).unmatched,
		"a cost of its own": (*suite).cost, "exempt": (*suite).exempt, "shadow": (*suite).shadow, "delay": (*suite).delay,
		"a plan and a resource of its own": (*suite).planned, "the decision in the request": (*suite).state,
		"headers of the handler": (*suite).ownHeaders, "text for those who prefer it": (*suite).text, "leases": (*suite).leases,
		"the client's address": (*suite).address, "a long key": (*suite).longKey,
	} {
		t.Run(name, func(t *testing.T) {
			inner := *s
			inner.t = t
			test(&inner)
		})
	}
	for mode, status := range map[sluice.OnError]int{sluice.Allow: 200, sluice.Deny: 503, sluice.Raise: 503} {
		t.Run("agent killed, "+string(mode), func(t *testing.T) {
			agent := testagent.Start(t)
			s := &suite{t, serve(t, agent.Client(t, sluice.WithOnError(mode)), hooks), agent, nil, hooks}
			s.wants(s.get("/users/1", "killed"), 200)
			agent.Kill()
			for range 5 {
				got := s.get("/users/1", "killed")
				s.wants(got, status)
				if status == 503 {
					s.problem(got, "Service Unavailable")
				}
			}
			agent.Restart()
			got := s.get("/users/1", "killed")
			s.wants(got, 200)
			if got.header.Get("X-RateLimit-Remaining") == "" {
				t.Error("the agent is back, and is not asked")
			}
		})
	}
}

func (s *suite) do(method, path, user string, header ...string) response {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if user != "" {
		request.Header.Set("X-User", user)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{got.StatusCode, got.Header, string(body)}
}

func (s *suite) get(path, user string, header ...string) response {
	s.t.Helper()
	return s.do("GET", path, user, header...)
}

func (s *suite) wants(got response, status int) {
	s.t.Helper()
	if got.status != status {
		s.t.Fatalf("status %d, not %d: %v %s", got.status, status, got.header, got.body)
	}
}

func (s *suite) problem(got response, title string) (retryAfter *int64) {
	s.t.Helper()
	var problem struct {
		Type, Title, Detail string
		Status              int
		RetryAfter          *int64 `json:"retry_after"`
	}
	if err := json.Unmarshal([]byte(got.body), &problem); err != nil {
		s.t.Fatalf("%v: %q", err, got.body)
	}
	if problem.Type != "about:blank" || problem.Title != title || problem.Status != got.status || problem.Detail == "" ||
		got.header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("%v %s", got.header, got.body)
	}
	return problem.RetryAfter
}

func (s *suite) limits() {
	for i, remaining := range []string{"1", "0"} {
		got := s.get(fmt.Sprint("/users/", i), "limits")
		s.wants(got, 200)
		exposed := got.header.Get("Access-Control-Expose-Headers")
		if got.body != fmt.Sprint(i) || got.header.Get("X-RateLimit-Remaining") != remaining || got.header.Get("RateLimit") == "" ||
			!strings.Contains(exposed, "X-Ratelimit-Remaining") || !strings.Contains(exposed, "Ratelimit-Policy") {
			s.t.Errorf("%v %q", got.header, got.body)
		}
	}
	got := s.get("/users/2", "limits")
	s.wants(got, 429)
	after := s.problem(got, "Too Many Requests")
	if after == nil || *after < 1 || *after > 3600 || got.header.Get("Retry-After") != fmt.Sprint(*after) || got.header.Get("X-RateLimit-Limit") != "2" ||
		!strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "Retry-After") {
		s.t.Errorf("%v %s", got.header, got.body)
	}
	s.wants(s.get("/users/2", "limits-other"), 200)
}

func (s *suite) wildcard() {
	s.wants(s.get("/files/a", "files"), 200)
	s.wants(s.get("/files/b/c", "files"), 200)
	s.wants(s.get("/files/d", "files"), 429)
}

func (s *suite) unmatched() {
	s.wants(s.get("/nothing/1", "lost"), 404)
	s.wants(s.get("/nothing/2", "lost"), 404)
	s.wants(s.get("/nothing/3", "lost"), 429)
}

func (s *suite) cost() {
	for _, remaining := range []string{"5", "0"} {
		got := s.do("POST", "/upload", "uploads")
		s.wants(got, 200)
		if got.header.Get("X-RateLimit-Remaining") != remaining {
			s.t.Errorf("%v", got.header)
		}
	}
	s.wants(s.do("POST", "/upload", "uploads"), 429)
}

func (s *suite) exempt() {
	for range 5 {
		got := s.get("/free", "free")
		s.wants(got, 200)
		if got.header.Get("X-RateLimit-Limit") != "" {
			s.t.Errorf("%v", got.header)
		}
	}
}

func (s *suite) shadow() {
	for range 5 {
		s.wants(s.get("/shadow", "shadow"), 200)
	}
	decision, err := s.asks.Check(context.Background(), sluice.Check{Endpoint: "/shadow", Resource: "GET:/shadow", Subject: "user:shadow", Cost: sluice.Cost(1)})
	if err != nil || !decision.Shadow || decision.WouldAllow {
		s.t.Errorf("the requests were not counted: %v %+v", err, decision)
	}
}

func (s *suite) delay() {
	s.wants(s.get("/delayed", "delay"), 200)
	begun := time.Now()
	s.wants(s.get("/delayed", "delay"), 200)
	if took := time.Since(begun); took < 100*time.Millisecond {
		s.t.Errorf("not delayed: %s", took)
	}
	s.wants(s.get("/slow", "slow"), 200)
	got := s.get("/slow", "slow")
	s.wants(got, 429)
	if after := s.problem(got, "Too Many Requests"); after == nil || *after < 5 || *after > 11 {
		s.t.Errorf("%s", got.body)
	}
}

func (s *suite) planned() {
	s.wants(s.get("/planned", "planned"), 200)
	if got := s.get("/planned", "planned"); got.header.Get("X-RateLimit-Limit") != "2" {
		s.t.Errorf("%v", got.header)
	}
	s.wants(s.get("/planned", "planned"), 429)
}

func (s *suite) state() {
	s.wants(s.get("/smaller", "smaller"), 200)
	if got := s.get("/smaller", "smaller"); got.body != "small" {
		s.t.Errorf("%d %q", got.status, got.body)
	}
}

func (s *suite) ownHeaders() {
	got := s.get("/own", "own")
	s.wants(got, 200)
	exposed := strings.Join(got.header.Values("Access-Control-Expose-Headers"), ", ")
	if got.header.Get("X-RateLimit-Limit") != "own" || len(got.header.Values("X-RateLimit-Limit")) != 1 || !strings.Contains(exposed, "X-Mine") {
		s.t.Errorf("%v", got.header)
	}
}

func (s *suite) text() {
	s.get("/users/1", "text")
	s.get("/users/1", "text")
	got := s.get("/users/1", "text", "Accept", "text/plain, application/json;q=0.5")
	s.wants(got, 429)
	if got.body != "Rate limit exceeded" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		s.t.Errorf("%v %q", got.header, got.body)
	}
	got = s.get("/users/1", "text", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	s.problem(got, "Too Many Requests")
}

func (s *suite) address() {
	s.wants(s.get("/users/1", "", "X-Forwarded-For", "203.0.113.1"), 200)
	s.wants(s.get("/users/1", "", "X-Forwarded-For", "203.0.113.2"), 200)
	s.wants(s.get("/users/1", "", "X-Forwarded-For", "203.0.113.3"), 429)
	decision, err := s.asks.Check(context.Background(), sluice.Check{Endpoint: "/users/{id}", Resource: "GET:/users/{id}", Subject: "ip:127.0.0.1"})
	if err != nil || decision.Allowed {
		s.t.Errorf("the subject was not ip:127.0.0.1: %v %+v", err, decision)
	}
}

func (s *suite) longKey() {
	long := strings.Repeat("x", 300)
	s.wants(s.get("/users/1", long), 200)
	s.wants(s.get("/users/1", long), 200)
	s.wants(s.get("/users/1", long), 429)
}

// leases: one request at a time, which a concurrency limit counts.
func (s *suite) leases() {
	check := sluice.Check{Resource: "GET:/job", Endpoint: "/job", Method: "GET", Subject: "user:job"}
	done := make(chan int, 1)
	go func() { done <- s.get("/job", "job").status }()
	<-s.hooks.entered
	s.wants(s.get("/job", "job"), 429)
	s.hooks.leave <- struct{}{}
	if status := <-done; status != 200 {
		s.t.Errorf("status %d", status)
	}
	testagent.FreeForOthers(s.t, s.asks, check)

	// A handler that fails.
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a usual client may repeat the request
	if response, err := once.Do(s.job("?fail=1")); err == nil {
		_ = response.Body.Close()
	}
	<-s.hooks.entered
	testagent.FreeForOthers(s.t, s.asks, check)

	// A client that goes away while the handler runs.
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.job("").Write(connection); err != nil {
		s.t.Fatal(err)
	}
	<-s.hooks.entered
	if testagent.Free(s.t, s.asks, check) {
		s.t.Error("the lease is not held")
	}
	_ = connection.Close()
	testagent.FreeForOthers(s.t, s.asks, check)
	s.hooks.leave <- struct{}{}

	// A client that reads nothing and stays: the lease is held.
	connection, err = net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer connection.Close()
	if err := s.job("").Write(connection); err != nil {
		s.t.Fatal(err)
	}
	<-s.hooks.entered
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if testagent.Free(s.t, s.asks, check) {
			s.t.Fatal("the lease is not held")
		}
	}
	s.hooks.leave <- struct{}{}
	if _, err := http.ReadResponse(bufio.NewReader(connection), nil); err != nil {
		s.t.Error(err)
	}
	testagent.FreeForOthers(s.t, s.asks, check)
}

func (s *suite) job(query string) *http.Request {
	request, err := http.NewRequest("GET", s.url+"/job"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-User", "job")
	return request
}
