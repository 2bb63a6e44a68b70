package sluice

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// idleTime is how long a connection may be idle. Agents close theirs after 75 s.
const idleTime = 30 * time.Second

// pool is the transport over HTTP/1.1. The connection that was used last is used first.
type pool struct {
	to     address
	secure *tls.Config
	slots  chan struct{} // one for each call that has or opens a connection

	mutex  sync.Mutex
	idle   []*connection // the one used last is at the end
	reaper *time.Timer
	ended  bool
}

func newPool(to address, secure *tls.Config, connections int) *pool {
	return &pool{to: to, secure: secure, slots: make(chan struct{}, connections)}
}

// Do sends a call. A connection that was closed before any byte was written to it is replaced by another.
func (p *pool) Do(ctx context.Context, request Request) (Reply, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
	defer func() { <-p.slots }()

	repeated := false
	for {
		connection, err := p.take(ctx, repeated)
		if err != nil {
			return Reply{}, err
		}
		fresh := !connection.used
		reply, reusable, err := connection.call(ctx, request, p.to)
		if err == nil {
			p.give(connection, reusable)
			return reply, nil
		}
		connection.close()
		var notSent unsent
		var refused *net.OpError
		switch {
		case over(ctx) != nil:
			return Reply{}, over(ctx)
		case errors.As(err, &refused) && refused.Op == "remote error":
			// In TLS 1.3 an agent refuses a client's certificate after the handshake.
			return Reply{}, failure(Unreachable, err, "%s refused the connection: %v", p.to.text, err)
		case errors.As(err, &notSent) && !fresh:
			continue
		case errors.As(err, &notSent):
			return Reply{}, failure(Unreachable, err, "%s closed the new connection: %v", p.to.text, err)
		case request.Idempotent && !repeated:
			repeated = true
			continue
		}
		return Reply{}, failure(Protocol, err, "%s sent no whole HTTP reply: %v", p.to.text, err)
	}
}

// take gives an idle connection that is still open, or a new one.
func (p *pool) take(ctx context.Context, fresh bool) (*connection, error) {
	for connection := p.pop(); connection != nil; connection = p.pop() {
		if !fresh && !connection.closed() {
			return connection, nil
		}
		connection.close()
		if fresh {
			break // the new one takes its place
		}
	}
	connection, err := dial(ctx, p.to, p.secure)
	if err != nil {
		if over(ctx) != nil {
			return nil, over(ctx)
		}
		return nil, failure(Unreachable, err, "no connection to %s: %v", p.to.text, err)
	}
	return connection, nil
}

// over is ctx.Err(), also in the moment before ctx knows that its deadline has passed: package net sees the deadline by itself.
func over(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func (p *pool) pop() *connection {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	connection := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return connection
}

func (p *pool) give(connection *connection, reusable bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !reusable || p.ended {
		connection.close()
		return
	}
	connection.since = time.Now()
	p.idle = append(p.idle, connection)
	if p.reaper == nil {
		p.reaper = time.AfterFunc(idleTime, p.reap)
	}
}

// reap closes the connections that have been idle for too long, and comes back for the next one.
func (p *pool) reap() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	old := 0
	for old < len(p.idle) && time.Since(p.idle[old].since) >= idleTime {
		p.idle[old].close()
		old++
	}
	p.idle = append(p.idle[:0:0], p.idle[old:]...)
	p.reaper = nil
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(idleTime-time.Since(p.idle[0].since), p.reap)
	}
}

// Close closes idle connections. Those in use are closed when their call gives them back.
func (p *pool) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ended = true
	for _, connection := range p.idle {
		connection.close()
	}
	p.idle = nil
	if p.reaper != nil {
		p.reaper.Stop()
		p.reaper = nil
	}
	return nil
}
