package sluice

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond // before an unreachable agent is asked again
	lastPause  = 2 * time.Second
	leastPause = 10 * time.Millisecond // where an agent says that a denied check would pass now
	mostJitter = 100 * time.Millisecond
)

// Wait returns when the check passes, or cannot pass within upTo. Decision.Allowed tells which. It sets check.Wait itself.
// Errors are as those of [Client.Check]; while the agent is unreachable, Wait tries again.
func (c *Client) Wait(ctx context.Context, check Check, upTo time.Duration) (Decision, error) {
	if upTo < 0 {
		return Decision{}, misuse("up_to must not be negative; got %s", upTo)
	}
	end := time.Now().Add(upTo)
	pause := firstPause
	for {
		left := max(0, time.Until(end))
		if check.Wait = min(left, maxWait).Truncate(time.Millisecond); check.Wait == 0 {
			check.Wait = NoWait
		}
		decision, err := c.ask(ctx, check, false)
		left = max(0, time.Until(end))
		var next time.Duration
		var failed *Error
		switch {
		case errors.As(err, &failed) && failed.Kind == Unreachable && pause <= left:
			c.log.report(failed)
			next, pause = pause, min(2*pause, lastPause)
		case err != nil:
			return c.settle(decision, err)
		case decision.Allowed:
			if decision.Delay > 0 && decision.Delay <= left {
				if err := sleep(ctx, decision.Delay); err != nil {
					c.giveBack(ctx, decision)
					return Decision{}, err
				}
				decision.Delay = 0
			}
			return decision, nil
		case decision.RetryAfter == nil || *decision.RetryAfter > left || left == 0:
			return decision, nil
		default:
			retry := max(*decision.RetryAfter, leastPause)
			next = min(left, retry+rand.N(min(retry/10, mostJitter)+1))
		}
		if err := sleep(ctx, next); err != nil {
			return Decision{}, err
		}
	}
}

// giveBack releases a lease that nobody will hear of.
func (c *Client) giveBack(ctx context.Context, decision Decision) {
	if decision.LeaseID != "" {
		_, _ = c.Release(context.WithoutCancel(ctx), decision.LeaseID)
	}
}

func sleep(ctx context.Context, time_ time.Duration) error {
	timer := time.NewTimer(time_)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
