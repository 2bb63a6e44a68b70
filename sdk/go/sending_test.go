package sluice_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

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
	for range 200 {
		d := must(client.Check(background, sluice.Check{Subject: "a"}))(t)
		if !d.Decided {
			// The reply may be here before the end of the connection; then the call is lost, and not repeated.
			if d.Err.Kind != sluice.Protocol {
				t.Fatalf("%v", d.Err)
			}
		}
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
