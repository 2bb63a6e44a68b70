package sluice_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

var background = context.Background()

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// server answers connections with a function: what agents do that misbehave.
func server(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				serve(connection)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// request reads one request; nil at the end.
func request(reader *bufio.Reader) *http.Request {
	read, err := http.ReadRequest(reader)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(read.Body)
	if err != nil {
		return nil
	}
	read.Body = io.NopCloser(bytes.NewReader(body))
	return read
}

func reply(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const allowed = `{"allowed":true,"action":"allow","reason":"within_limit"}`

func client(t *testing.T, url string, options ...sluice.Option) *sluice.Client {
	t.Helper()
	made := must(sluice.New(append([]sluice.Option{sluice.WithURL(url), sluice.WithTimeout(5 * time.Second), sluice.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}, options...)...))(t)
	t.Cleanup(func() { _ = made.Close() })
	return made
}

func TestACheckGivesWhatTheAgentDecided(t *testing.T) {
	agent := testagent.Start(t)
	for name, option := range map[string]sluice.Option{"tcp": sluice.WithURL(agent.URL), "unix": sluice.WithURL("unix://" + agent.Socket)} {
		t.Run(name, func(t *testing.T) {
			client := agent.Client(t, option)
			check := sluice.Check{PlanID: "two", Subject: name, RequestID: "r-1"}
			for remaining := int64(1); remaining >= 0; remaining-- {
				d := must(client.Check(background, check))(t)
				if !d.Allowed || !d.Success() || !d.Decided || d.Err != nil || d.Status != 200 || d.Reason != "within_limit" || d.Action != "allow" ||
					*d.Limit != 2 || *d.Remaining != remaining || *d.RetryAfter != 0 || d.Plan != "two" || d.LimitName != "two" || d.RequestID != "r-1" {
					t.Errorf("%+v", d)
				}
				if time.Until(d.Reset) < 0 || time.Until(d.Reset) > time.Hour+2*time.Second {
					t.Errorf("reset %s", d.Reset)
				}
				if got := d.ToHeaders().Get("X-RateLimit-Remaining"); got != fmt.Sprint(remaining) {
					t.Errorf("headers %v", d.Headers)
				}
			}
			d := must(client.Check(background, check))(t)
			if d.Allowed || d.Status != 429 || d.Reason != "limit_exceeded" || !d.OverLimit || d.WouldAllow || d.RetryAfter == nil || *d.RetryAfter <= 0 || d.Headers.Get("Retry-After") == "" {
				t.Errorf("%+v", d)
			}
			for name := range d.Headers {
				if name = strings.ToLower(name); !strings.Contains(name, "ratelimit") && name != "retry-after" {
					t.Errorf("%s is no rate limit header", name)
				}
			}
		})
	}
}

func TestZeroCostReadsAndALargerOneCharges(t *testing.T) {
	client := testagent.Start(t).Client(t)
	for _, step := range []struct {
		cost      *int64
		remaining int64
	}{{sluice.Cost(0), 10}, {sluice.Cost(4), 6}, {nil, 5}, {sluice.Cost(0), 5}} {
		d := must(client.Check(background, sluice.Check{PlanID: "ten", Subject: "a", Cost: step.cost}))(t)
		if *d.Remaining != step.remaining {
			t.Errorf("remaining %d, not %d", *d.Remaining, step.remaining)
		}
	}
}

func TestActionsOfAPolicyAreInTheDecision(t *testing.T) {
	client := testagent.Start(t).Client(t)
	ask := func(plan string) sluice.Decision {
		return must(client.Check(background, sluice.Check{PlanID: plan, Subject: "a"}))(t)
	}
	ask("smaller")
	if d := ask("smaller"); !d.Allowed || d.DowngradeTo != "small" || d.Action != "downgrade" {
		t.Errorf("%+v", d)
	}
	ask("some")
	if d := ask("some"); d.SampleRate != 0.5 {
		t.Errorf("%+v", d)
	}
	ask("delayed")
	if d := ask("delayed"); d.Delay <= 0 || d.Delay > time.Second {
		t.Errorf("%+v", d)
	}
	for range 3 {
		d := must(client.Check(background, sluice.Check{Endpoint: "/shadow", Subject: "s"}))(t)
		if !d.Allowed || !d.Shadow {
			t.Errorf("%+v", d)
		}
	}
	if d := must(client.Check(background, sluice.Check{Endpoint: "/shadow", Subject: "s"}))(t); d.WouldAllow || !d.OverLimit {
		t.Errorf("%+v", d)
	}
}

func TestABatchKeepsTheOrderAndMarksFaultyChecks(t *testing.T) {
	agent := testagent.Start(t)
	checks := make([]sluice.Check, 600)
	for i := range checks {
		checks[i] = sluice.Check{PlanID: "two", Subject: fmt.Sprint("s", i)}
	}
	checks[300].Cost = sluice.Cost(3)
	checks[599].Cost = sluice.Cost(-1)
	for _, mode := range []sluice.OnError{sluice.Allow, sluice.Deny, sluice.Raise} {
		decisions := must(agent.Client(t, sluice.WithOnError(mode)).CheckBatch(background, checks))(t)
		if len(decisions) != len(checks) {
			t.Fatalf("%d decisions", len(decisions))
		}
		for i, d := range decisions {
			switch i {
			case 300:
				if d.Allowed || d.Status != 429 || !d.Decided {
					t.Errorf("%+v", d)
				}
			case 599:
				if d.Allowed != (mode == sluice.Allow) || d.Decided || d.Err == nil || d.Err.Kind != sluice.Refused || d.Status != 422 || d.Err.Errors[0].Pointer != "/checks/87/cost" {
					t.Errorf("%+v %v", d, d.Err)
				}
			default:
				if mode == sluice.Allow && (!d.Allowed || d.Status != 200) {
					t.Errorf("%d: %+v", i, d)
				}
			}
		}
	}
	if decisions := must(agent.Client(t, sluice.WithURL("http://127.0.0.1:1")).CheckBatch(background, nil))(t); len(decisions) != 0 {
		t.Error(decisions)
	}
}

func TestErrorModes(t *testing.T) {
	agent := testagent.Start(t)
	overload := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, reply(503, `{"allowed":false,"action":"deny","reason":"overload","retry_after_ms":1000}`))
	})
	failClosed := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, reply(503, `{"allowed":false,"action":"deny","reason":"fail_closed","retry_after_ms":1000}`))
	})
	cut := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, reply(200, allowed)[:60])
	})
	garbage := server(t, func(c net.Conn) { request(bufio.NewReader(c)); _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9\r\n") })
	silent := server(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	large := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, reply(200, `{"allowed":true,"x":"`+strings.Repeat("x", 2<<20)+`"}`))
	})
	endlessHeader := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "X-A: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
	redirect := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
	})
	deep := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		_, _ = io.WriteString(c, reply(200, strings.Repeat(`{"a":`, 100_000)))
	})
	for _, is := range []struct {
		name, url string
		kind      sluice.Kind
		options   []sluice.Option
	}{
		{"absent", "http://127.0.0.1:1", sluice.Unreachable, nil},
		{"no host", "http://nowhere.invalid:80", sluice.Unreachable, nil},
		{"no socket", "unix:///nonexistent/agent.sock", sluice.Unreachable, nil},
		{"overload", overload, sluice.Unavailable, nil},
		{"cut", cut, sluice.Protocol, nil},
		{"garbage", garbage, sluice.Protocol, nil},
		{"large", large, sluice.Protocol, nil},
		{"endless header", endlessHeader, sluice.Protocol, nil},
		{"deep", deep, sluice.Protocol, nil},
		{"silent", silent, sluice.Timeout, []sluice.Option{sluice.WithTimeout(40 * time.Millisecond)}},
		{"redirect", redirect, sluice.Refused, nil},
		{"wrong key", agent.URL, sluice.Refused, []sluice.Option{sluice.WithAPIKey("slk_wrong")}},
	} {
		t.Run(is.name, func(t *testing.T) {
			for _, mode := range []sluice.OnError{sluice.Allow, sluice.Deny, sluice.Raise} {
				client := client(t, is.url, append(is.options, sluice.WithOnError(mode))...)
				d, err := client.Check(background, sluice.Check{Subject: "a"})
				if mode == sluice.Raise {
					var failed *sluice.Error
					if !errors.As(err, &failed) || failed.Kind != is.kind || d.Allowed || !errors.Is(err, &sluice.Error{Kind: is.kind}) {
						t.Errorf("%v %+v", err, d)
					}
					continue
				}
				if err != nil || d.Decided || d.Allowed != (mode == sluice.Allow) || d.Reason != "error" || d.Action != string(mode) || d.Err == nil || d.Err.Kind != is.kind {
					t.Errorf("%v %+v %v", err, d, d.Err)
				}
				ds, err := client.CheckBatch(background, []sluice.Check{{Subject: "a"}, {Subject: "b"}})
				if err != nil || len(ds) != 2 || ds[1].Allowed != (mode == sluice.Allow) || ds[1].Decided {
					t.Errorf("%v %+v", err, ds)
				}
				if released, err := client.Release(background, "x"); released || err != nil {
					t.Errorf("%v %v", released, err)
				}
				if end, err := client.Renew(background, "x"); !end.IsZero() || err != nil {
					t.Errorf("%v %v", end, err)
				}
			}
		})
	}
	for _, mode := range []sluice.OnError{sluice.Allow, sluice.Raise} {
		d := must(client(t, failClosed, sluice.WithOnError(mode)).Check(background, sluice.Check{Subject: "a"}))(t)
		if d.Allowed || !d.Decided || d.Reason != "fail_closed" || d.Status != 503 || *d.RetryAfter != time.Second {
			t.Errorf("%+v", d)
		}
	}
}

func TestACheckIsSentOnce(t *testing.T) {
	var received atomic.Int32
	url := server(t, func(c net.Conn) { // takes the request and breaks the connection
		if request(bufio.NewReader(c)) != nil {
			received.Add(1)
		}
	})
	client := client(t, url)
	if d := must(client.Check(background, sluice.Check{Subject: "a"}))(t); d.Decided || received.Load() != 1 {
		t.Errorf("sent %d times, %+v", received.Load(), d)
	}
	// A release may be repeated once.
	received.Store(0)
	if released := must(client.Release(background, "l"))(t); released || received.Load() != 2 {
		t.Errorf("sent %d times", received.Load())
	}
}

func TestAConnectionThatTheAgentClosedIsReplacedBeforeAByteIsWritten(t *testing.T) {
	var connections, requests atomic.Int32
	url := server(t, func(c net.Conn) { // keep-alive by its word, but closes after each reply
		connections.Add(1)
		if request(bufio.NewReader(c)) != nil {
			requests.Add(1)
			_, _ = io.WriteString(c, reply(200, allowed))
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		}
	})
	client := client(t, url)
	for i := range int32(200) {
		d := must(client.Check(background, sluice.Check{Subject: "a"}))(t)
		if !d.Decided {
			// The reply may be here before the end of the connection; then the call is lost, and not repeated.
			if d.Err.Kind != sluice.Protocol {
				t.Fatalf("%v", d.Err)
			}
			continue
		}
		_ = i
	}
	if requests.Load() < 190 || connections.Load() < requests.Load() {
		t.Errorf("%d requests on %d connections", requests.Load(), connections.Load())
	}
}

func TestConnectionsAreUsedAgainAndNeverMoreThanAllowed(t *testing.T) {
	var open, most, made atomic.Int32
	url := server(t, func(c net.Conn) {
		made.Add(1)
		now := open.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		defer open.Add(-1)
		reader := bufio.NewReader(c)
		for request(reader) != nil {
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(c, reply(200, allowed))
		}
	})
	client := client(t, url, sluice.WithMaxConnections(3))
	var group sync.WaitGroup
	for range 20 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 10 {
				if d, err := client.Check(background, sluice.Check{Subject: "a"}); err != nil || !d.Decided {
					t.Errorf("%v %v", err, d.Err)
				}
			}
		}()
	}
	group.Wait()
	if most.Load() > 3 || made.Load() > 3 {
		t.Errorf("%d connections at once, %d in all", most.Load(), made.Load())
	}
	_ = client.Close()
	testagent.Until(t, "the connections are closed", func() bool { return open.Load() == 0 })
	if _, err := client.Check(background, sluice.Check{}); !errors.Is(err, sluice.ErrClosed) || !errors.Is(err, sluice.ErrMisuse) {
		t.Errorf("%v", err)
	}
}

func TestCancellationLeavesTheCallInEveryModeAndClosesTheConnection(t *testing.T) {
	gone := make(chan struct{}, 10)
	asked := make(chan struct{}, 10)
	url := server(t, func(c net.Conn) {
		request(bufio.NewReader(c))
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
		gone <- struct{}{}
	})
	for _, mode := range []sluice.OnError{sluice.Allow, sluice.Deny, sluice.Raise} {
		ctx, cancel := context.WithCancel(background)
		go func() { <-asked; cancel() }()
		if _, err := client(t, url, sluice.WithOnError(mode)).Check(ctx, sluice.Check{Subject: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		<-gone
		ctx, cancel = context.WithTimeout(background, 30*time.Millisecond)
		defer cancel()
		if _, err := client(t, url, sluice.WithOnError(mode)).Check(ctx, sluice.Check{Subject: "a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		<-gone
		<-asked
	}
}

func TestHeadersOfACall(t *testing.T) {
	headers := make(chan http.Header, 3)
	url := server(t, func(c net.Conn) {
		reader := bufio.NewReader(c)
		for read := request(reader); read != nil; read = request(reader) {
			headers <- read.Header
			_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"+reply(200, allowed))
		}
	})
	span := func(context.Context) (string, string) { return "00-aa-bb-01", "x=y" }
	client := client(t, url, sluice.WithAPIKey("slk_x"), sluice.WithTraceContext(span))
	for _, is := range []struct {
		ctx           context.Context
		parent, state string
	}{
		{background, "00-aa-bb-01", "x=y"},
		{sluice.ContextWithTrace(background, "00-cc-dd-00", ""), "00-cc-dd-00", ""},
		{sluice.ContextWithIncomingTrace(background, "00-ee-ff-00", ""), "00-aa-bb-01", "x=y"},
	} {
		must(client.Check(is.ctx, sluice.Check{Subject: "a"}))(t)
		got := <-headers
		if got.Get("Traceparent") != is.parent || got.Get("Tracestate") != is.state || got.Get("X-Api-Key") != "slk_x" ||
			got.Get("User-Agent") != "sluice-go/"+sluice.Version || got.Get("Content-Type") != "application/json" {
			t.Errorf("%v", got)
		}
	}
	if _, err := client.Check(sluice.ContextWithTrace(background, "evil\r\nX-Api-Key: other", ""), sluice.Check{}); !errors.Is(err, sluice.ErrMisuse) {
		t.Errorf("%v", err)
	}
}

func TestARotatedKeyIsReadAgain(t *testing.T) {
	agent := testagent.Start(t)
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SLUICE_API_KEY_FILE", file)
	client := client(t, agent.URL) // the file is not read yet
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); d.Decided || d.Err.Kind != sluice.Refused {
		t.Errorf("%+v", d)
	}
	write("slk_old_key")
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); d.Decided || d.Status != 401 {
		t.Errorf("%+v", d)
	}
	write("\n" + agent.Key + " \n")
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); !d.Decided || *d.Remaining != 1 {
		t.Errorf("%+v %v", d, d.Err)
	}
}

func TestOptionsAndEnvironment(t *testing.T) {
	for _, is := range []struct{ environment, wants string }{
		{"", "agent: http://127.0.0.1:8088, timeout: 50ms, on_error: allow, api_key: none"},
		{"SLUICE_URL=http://h:1 SLUICE_TIMEOUT=1.5s SLUICE_ON_ERROR=deny SLUICE_API_KEY=slk_secret", "agent: http://h:1, timeout: 1.5s, on_error: deny, api_key: set"},
		{"SLUICE_URL=http://h:1 SLUICE_SOCKET=/run/a.sock", "agent: unix:///run/a.sock"},
		{"SLUICE_URL=https://h/", "agent: https://h,"},
		{"SLUICE_URL=http://[::1]:80", "agent: http://[::1]:80,"},
		{"SLUICE_TIMEOUT=50", "error: sluice: SLUICE_TIMEOUT must be a number above 0 with a unit (ms, s or m), such as 50ms; got \"50\""},
		{"SLUICE_ON_ERROR=open", "error: sluice: SLUICE_ON_ERROR must be allow, deny or raise; got \"open\""},
		{"SLUICE_URL=http://user:hidden@h", "error: sluice: SLUICE_URL must be http://HOST:PORT"},
		{"SLUICE_API_KEY=slk_sécret", "error: sluice: SLUICE_API_KEY must be visible ASCII"},
	} {
		t.Run(is.environment, func(t *testing.T) {
			for _, name := range []string{"URL", "SOCKET", "API_KEY", "API_KEY_FILE", "TIMEOUT", "ON_ERROR"} {
				t.Setenv("SLUICE_"+name, "")
			}
			for _, pair := range strings.Fields(is.environment) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			client, err := sluice.New()
			got := fmt.Sprintf("%v %+v %#v", client, client, client)
			if err != nil {
				got = "error: " + err.Error()
				if !errors.Is(err, sluice.ErrMisuse) {
					t.Error("not marked as misuse")
				}
			}
			if !strings.Contains(got, is.wants) || strings.Contains(got, "cret") || strings.Contains(got, "hidden@") {
				t.Error(got)
			}
		})
	}
	for _, options := range [][]sluice.Option{
		{sluice.WithURL("http://a"), sluice.WithSocket("/a")}, {sluice.WithAPIKey("a"), sluice.WithAPIKeyFile("b")}, {sluice.WithTimeout(0)},
		{sluice.WithTimeout(-time.Second)}, {sluice.WithOnError("x")}, {sluice.WithMaxConnections(0)}, {sluice.WithURL("")}, {sluice.WithURL("ftp://a")}, {sluice.WithSocket("/" + strings.Repeat("a", 107))},
		{sluice.WithURL("http://a/b")}, {sluice.WithURL("http://a:99999")}, {sluice.WithURL("unix://relative")}, {sluice.WithClientCertificate("a", "")},
		{sluice.WithURL("https://a"), sluice.WithCAFile("/nonexistent")}, {sluice.WithURL("https://a"), sluice.WithClientCertificate("/nonexistent", "/nonexistent")},
	} {
		if _, err := sluice.New(options...); !errors.Is(err, sluice.ErrMisuse) {
			t.Errorf("%v", err)
		}
	}
}

func TestErrorsAreLoggedOnceInTenSeconds(t *testing.T) {
	var log bytes.Buffer
	client := client(t, "http://127.0.0.1:1", sluice.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), sluice.WithAPIKey("slk_secret"))
	for range 50 {
		must(client.Check(background, sluice.Check{Subject: "a"}))(t)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "agent=http://127.0.0.1:1 kind=unreachable") ||
		!strings.Contains(log.String(), "checks are allowed") || strings.Contains(log.String(), "secret") {
		t.Error(log.String())
	}
}

func TestTheShapeOfGoRL(t *testing.T) {
	limiter := testagent.Start(t).Client(t).Limiter(sluice.Check{PlanID: "two"})
	for i, want := range []bool{true, true, false} {
		if got := must(limiter.Allow("user:1"))(t); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// goroutines waits until their number is that of before.
func goroutines(t *testing.T, before int) {
	t.Helper()
	testagent.Until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}
