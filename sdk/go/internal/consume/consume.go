// Package consume is what the wrappers of message consumers have in common.
package consume

import (
	"context"
	"errors"
	"time"

	"sluice.dev/go"
)

const (
	again = time.Second // until a check is made again whose decision does not say when
	step  = time.Minute // the longest single wait
)

// Forever as patience waits until the check passes.
const Forever time.Duration = -1

// Admit waits until a check passes, and holds its lease. It gives no lease if the check cannot pass within patience; the decision says why.
// Errors of the agent count as denials, unless the client allows then. An error is that of ctx or of misuse.
func Admit(ctx context.Context, client *sluice.Client, check sluice.Check, patience time.Duration) (*sluice.Lease, sluice.Decision, error) {
	end := time.Now().Add(patience)
	for {
		left := step
		if patience >= 0 {
			left = min(step, max(0, time.Until(end)))
		}
		decision, err := client.Wait(ctx, check, left)
		var failed *sluice.Error
		if err != nil && !errors.As(err, &failed) {
			return nil, decision, err
		}
		if decision.Allowed && decision.Delay > 0 { // longer than what was left
			if patience >= 0 {
				giveBack(ctx, client, decision)
				decision.Allowed, decision.RetryAfter = false, &decision.Delay
				return nil, decision, nil
			}
			if err := Sleep(ctx, decision.Delay); err != nil {
				giveBack(ctx, client, decision)
				return nil, decision, err
			}
		}
		if decision.Allowed {
			return client.Hold(ctx, decision, sluice.KeepAlive()), decision, nil
		}
		pause := Pause(decision)
		if patience >= 0 && pause > time.Until(end) {
			return nil, decision, nil
		}
		if err := Sleep(ctx, pause); err != nil {
			return nil, decision, err
		}
	}
}

// giveBack releases a lease that nobody will hear of, also if ctx is done.
func giveBack(ctx context.Context, client *sluice.Client, decision sluice.Decision) {
	if decision.LeaseID != "" {
		_, _ = client.Release(context.WithoutCancel(ctx), decision.LeaseID)
	}
}

// Pause is how long to wait until a denied check is made again.
func Pause(decision sluice.Decision) time.Duration {
	if decision.RetryAfter == nil {
		return again
	}
	return max(10*time.Millisecond, *decision.RetryAfter)
}

// Sleep waits. The error is that of ctx.
func Sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
