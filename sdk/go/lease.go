package sluice

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shortestRenewal is the least time between two renewals.
const shortestRenewal = 50 * time.Millisecond

// Release ends a lease. It gives whether one was released: false if it had ended before or if the agent did not answer. With [Raise] the
// latter is an *[Error].
func (c *Client) Release(ctx context.Context, leaseID string) (bool, error) {
	members, err := c.leaseCall(ctx, "/v1/release", leaseID, "released")
	if err != nil {
		return false, c.settleLease(err)
	}
	released, _ := flag(members, "released")
	return released, nil
}

// Renew makes a lease last for another of its lifetimes. It gives the new end, or the zero time if the lease is gone or the agent did not
// answer. With [Raise] the latter is an *[Error].
func (c *Client) Renew(ctx context.Context, leaseID string) (time.Time, error) {
	end, err := c.renew(ctx, leaseID)
	if err != nil {
		return time.Time{}, c.settleLease(err)
	}
	return end, nil
}

func (c *Client) renew(ctx context.Context, leaseID string) (time.Time, error) {
	members, err := c.leaseCall(ctx, "/v1/renew", leaseID, "renewed")
	var failed *Error
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		return time.Time{}, nil // no such lease of this tenant
	}
	if err != nil {
		return time.Time{}, err
	}
	if renewed, _ := flag(members, "renewed"); !renewed {
		return time.Time{}, nil
	}
	return instant(members, "lease_expires_at"), nil
}

func (c *Client) leaseCall(ctx context.Context, path, leaseID, member string) (map[string]any, error) {
	body, err := json.Marshal(map[string]string{"lease_id": leaseID})
	if err != nil {
		return nil, misuse("the lease id cannot be written as JSON: %v", err)
	}
	reply, err := c.call(ctx, Request{Path: path, Body: body, Idempotent: true}, c.set.timeout)
	if err != nil {
		return nil, err
	}
	members, err := object(reply.Body)
	if _, there := flag(members, member); err != nil || reply.Status != http.StatusOK || !there {
		return nil, withoutDecision(reply, "boolean `"+member+"`")
	}
	return members, nil
}

func (c *Client) settleLease(err error) error {
	var failed *Error
	if !errors.As(err, &failed) {
		return err
	}
	c.log.report(failed)
	if c.set.onError == Raise {
		return failed
	}
	return nil
}

// Lease is a decision whose lease lasts until [Lease.End]. Without a lease in the decision there is nothing to end.
type Lease struct {
	Decision

	client *Client
	ended  sync.Once
	done   chan struct{}
	lost   atomic.Bool

	mutex  sync.Mutex  // of unbind: ctx may end while the lease is made
	unbind func() bool // forgets the end of ctx
}

// LeaseOption changes how a lease is held.
type LeaseOption func(*leaseSettings)

type leaseSettings struct{ keepAlive bool }

// KeepAlive renews the lease each time a third of its life has passed, until it ends.
func KeepAlive() LeaseOption { return func(s *leaseSettings) { s.keepAlive = true } }

// Lease asks a check and holds the lease that it takes:
//
//	lease, err := client.Lease(ctx, check)
//	if err != nil {
//		return err
//	}
//	defer lease.End(ctx)
//
// The lease also ends when ctx is done. Errors are as those of [Client.Check].
func (c *Client) Lease(ctx context.Context, check Check, options ...LeaseOption) (*Lease, error) {
	var set leaseSettings
	for _, option := range options {
		option(&set)
	}
	decision, err := c.settle(c.ask(ctx, check, true))
	if err != nil {
		return nil, err
	}
	return c.hold(ctx, decision, set), nil
}

// Hold holds the lease of a decision that [Client.Check] or [Client.Wait] gave, as [Client.Lease] does.
func (c *Client) Hold(ctx context.Context, decision Decision, options ...LeaseOption) *Lease {
	var set leaseSettings
	for _, option := range options {
		option(&set)
	}
	return c.hold(ctx, decision, set)
}

func (c *Client) hold(ctx context.Context, decision Decision, set leaseSettings) *Lease {
	lease := &Lease{Decision: decision, client: c, done: make(chan struct{})}
	if decision.LeaseID == "" {
		return lease
	}
	lease.mutex.Lock()
	lease.unbind = context.AfterFunc(ctx, func() { lease.End(ctx) })
	lease.mutex.Unlock()
	if set.keepAlive && !decision.LeaseExpiresAt.IsZero() {
		go lease.keepAlive(context.WithoutCancel(ctx))
	}
	return lease
}

// End releases the lease, also if ctx is done. A second call does nothing. If the agent does not answer, the client logs it, and the lease
// ends by itself.
func (l *Lease) End(ctx context.Context) {
	if l == nil {
		return
	}
	l.ended.Do(func() {
		close(l.done)
		if l.LeaseID == "" {
			return
		}
		l.mutex.Lock()
		l.unbind()
		l.mutex.Unlock()
		if !l.lost.Load() {
			_, _ = l.client.Release(context.WithoutCancel(ctx), l.LeaseID)
		}
	})
}

// Lost says whether a renewal found that the lease was gone before it ended.
func (l *Lease) Lost() bool { return l.lost.Load() }

// Done is closed when the lease begins to end.
func (l *Lease) Done() <-chan struct{} { return l.done }

func (l *Lease) keepAlive(ctx context.Context) {
	end := l.LeaseExpiresAt
	for {
		// The agent rounds the end down to seconds.
		timer := time.NewTimer(max(time.Until(end.Add(time.Second/2))/3, shortestRenewal))
		select {
		case <-l.done:
			timer.Stop()
			return
		case <-timer.C:
		}
		next, err := l.client.renew(ctx, l.LeaseID)
		var failed *Error
		switch {
		case errors.As(err, &failed):
			l.client.log.report(failed) // asked again when a third of what is left has passed
			if time.Until(end) < -time.Minute {
				return // the lease has long expired
			}
		case err != nil:
			return // the client is closed
		case next.IsZero():
			select {
			case <-l.done: // released meanwhile
			default:
				l.lost.Store(true)
			}
			return
		default:
			end = next
		}
	}
}
