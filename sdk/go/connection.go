package sluice

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"sluice.dev/go/internal/peek"
)

const (
	maxBody   = 2 << 20  // of a reply
	maxHeader = 64 << 10 // of a reply, interim replies included
)

// long ago: a deadline that ends every read and write at once.
var past = time.Unix(1, 0)

// connection is one keep-alive connection. One call uses it at a time.
type connection struct {
	wire   *wire    // counts what is written
	stream net.Conn // the wire itself, or TLS over it
	reader *bufio.Reader
	quota  io.LimitedReader // what a reply may still have
	used   bool             // has carried a call
	since  time.Time        // idle since
	buffer []byte
}

// wire is a connection that knows how many bytes were given to the system.
type wire struct {
	net.Conn
	written atomic.Int64
}

func (w *wire) Write(bytes []byte) (int, error) {
	n, err := w.Conn.Write(bytes)
	w.written.Add(int64(n))
	return n, err
}

// unsent marks an error of a call of which no byte was written.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

func dial(ctx context.Context, to address, secure *tls.Config) (*connection, error) {
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	raw, err := dialer.DialContext(ctx, to.network, to.dial)
	if err != nil {
		return nil, err
	}
	fresh := &connection{wire: &wire{Conn: raw}}
	fresh.stream = fresh.wire
	if secure != nil {
		over := tls.Client(fresh.wire, secure)
		if err := over.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, err
		}
		fresh.stream = over
	}
	fresh.quota.R = fresh.stream
	fresh.reader = bufio.NewReader(&fresh.quota)
	return fresh, nil
}

// closed says whether the agent has closed the connection, or has sent what nobody asked for.
func (c *connection) closed() bool {
	return c.reader.Buffered() > 0 || peek.Closed(c.wire.Conn)
}

// close does not say goodbye over TLS, because that can wait for a peer that does not read.
func (c *connection) close() { _ = c.wire.Close() }

// call sends a request and reads the reply. reusable says whether the connection can carry another call.
func (c *connection) call(ctx context.Context, request Request, to address) (reply Reply, reusable bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.wire.SetDeadline(past) })
	defer func() {
		// If the function above has run or runs, the connection has a deadline that is over.
		if !stop() {
			reusable = false
		}
	}()
	c.used = true
	before := c.wire.written.Load()
	c.write(request, to)
	if _, err := c.stream.Write(c.buffer); err != nil {
		if c.wire.written.Load() == before {
			err = unsent{err}
		}
		return Reply{}, false, err
	}
	return c.read()
}

func (c *connection) write(request Request, to address) {
	b := append(c.buffer[:0], "POST "...)
	b = append(b, request.Path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, to.host...)
	b = append(b, "\r\nUser-Agent: sluice-go/"+Version+"\r\nAccept: application/json\r\nContent-Type: application/json\r\n"...)
	for _, header := range [...][2]string{{"X-Api-Key", request.APIKey}, {"Traceparent", request.TraceParent}, {"Tracestate", request.TraceState}} {
		if header[1] != "" {
			b = append(append(append(append(b, header[0]...), ": "...), header[1]...), "\r\n"...)
		}
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(request.Body)), 10)
	b = append(b, "\r\n\r\n"...)
	c.buffer = append(b, request.Body...)
}

// posted tells the parser that replies may have a body.
var posted = &http.Request{Method: http.MethodPost}

func (c *connection) read() (Reply, bool, error) {
	c.quota.N = maxHeader
	var response *http.Response
	for {
		var err error
		if response, err = http.ReadResponse(c.reader, posted); err != nil {
			if c.quota.N <= 0 {
				err = errors.New("the header of the reply is too long")
			}
			return Reply{}, false, err
		}
		if response.StatusCode >= 200 {
			break
		}
		if response.StatusCode == http.StatusSwitchingProtocols {
			return Reply{}, false, errors.New("the agent switched to another protocol")
		}
	}
	c.quota.N = maxBody + maxHeader // with room for the framing of chunks
	body, err := readBody(response)
	switch {
	case err != nil:
		return Reply{}, false, err
	case len(body) > maxBody:
		return Reply{}, false, errors.New("the body of the reply is above 2 MiB")
	}
	reply := Reply{Status: response.StatusCode, Header: response.Header, Body: body}
	return reply, !response.Close && c.reader.Buffered() == 0, nil
}

// readBody reads one byte more than a body may have, to tell.
func readBody(response *http.Response) ([]byte, error) {
	if length := response.ContentLength; length >= 0 && length <= maxBody {
		body := make([]byte, length)
		_, err := io.ReadFull(response.Body, body)
		return body, err
	}
	var body bytes.Buffer
	_, err := body.ReadFrom(io.LimitReader(response.Body, maxBody+1))
	return body.Bytes(), err
}
