package sluice

import "context"

// Limiter has the shape that GoRL's limiters have: Allow(key) (bool, error).
type Limiter struct {
	client *Client
	check  Check
}

// Limiter makes a limiter whose keys are the subjects of this check.
func (c *Client) Limiter(check Check) *Limiter { return &Limiter{c, check} }

// Allow charges one request to a key. Errors are as those of [Client.Check].
func (l *Limiter) Allow(key string) (bool, error) { return l.AllowContext(context.Background(), key) }

// AllowContext is Allow with a context.
func (l *Limiter) AllowContext(ctx context.Context, key string) (bool, error) {
	check := l.check
	check.Subject = key
	decision, err := l.client.Check(ctx, check)
	return decision.Allowed, err
}
