package sluice_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

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

func TestTheShapeOfGoRL(t *testing.T) {
	limiter := testagent.Start(t).Client(t).Limiter(sluice.Check{PlanID: "two"})
	for i, want := range []bool{true, true, false} {
		if got := must(limiter.Allow("user:1"))(t); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
