package sluice_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

var background = context.Background()

// must fails the test that it is given if there is an error.
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

// goroutines waits until their number is that of before.
func goroutines(t *testing.T, before int) {
	t.Helper()
	testagent.Until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}
