package sluice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// batchSize is how many checks an agent takes in one call.
const batchSize = 256

// Client asks one agent. It may be used by many goroutines at once.
type Client struct {
	set       *settings
	transport Transport
	log       *errorLog
	key       keyFile
	closed    atomic.Bool
}

// keyFile is the API key as its file had it last.
type keyFile struct {
	mutex sync.Mutex
	value string
}

// New makes a client. It opens no connection. A wrong option is an [ErrMisuse].
func New(options ...Option) (*Client, error) {
	set, err := read(options)
	if err != nil {
		return nil, err
	}
	client := &Client{set: set, transport: set.transport, log: newErrorLog(set)}
	if client.transport == nil {
		secure, err := set.tlsConfig()
		if err != nil {
			return nil, err
		}
		client.transport = newPool(set.address, secure, set.maxConnections)
	}
	return client, nil
}

// String describes the client, without its API key.
func (c *Client) String() string {
	key := "none"
	if c.set.apiKey != "" {
		key = "set"
	} else if c.set.apiKeyFile != "" {
		key = "from " + c.set.apiKeyFile
	}
	return fmt.Sprintf("sluice.Client{agent: %s, timeout: %s, on_error: %s, api_key: %s}", c.set.address.text, c.set.timeout, c.set.onError, key)
}

// GoString is String, so that no format shows the API key.
func (c *Client) GoString() string { return c.String() }

// OnError is what checks of this client give if the agent gave no decision.
func (c *Client) OnError() OnError { return c.set.onError }

// Close closes idle connections at once and those in use after their call. Later calls return [ErrClosed].
func (c *Client) Close() error {
	c.closed.Store(true)
	return c.transport.Close()
}

// Check asks whether a request may go on.
//
// If the agent gives no decision, the client's [OnError] does: with [Allow] and [Deny] the error is nil and Decision.Err says why; with
// [Raise] the error is an *[Error]. In every mode the error is ctx.Err() if ctx is done, and [ErrClosed] after Close.
func (c *Client) Check(ctx context.Context, check Check) (Decision, error) {
	decision, err := c.ask(ctx, check, false)
	return c.settle(decision, err)
}

// settle turns an *Error into what the caller asked for.
func (c *Client) settle(decision Decision, err error) (Decision, error) {
	var failed *Error
	if !errors.As(err, &failed) {
		return decision, err
	}
	c.log.report(failed)
	if c.set.onError == Raise {
		return Deny.decision(failed), failed
	}
	return c.set.onError.decision(failed), nil
}

// ask sends a check. Whatever goes wrong is an error.
func (c *Client) ask(ctx context.Context, check Check, lease bool) (Decision, error) {
	body, err := json.Marshal(check)
	if err != nil {
		return Decision{}, misuse("the check cannot be written as JSON: %v", err)
	}
	reply, err := c.call(ctx, Request{Path: "/v1/check", Body: body, Lease: lease}, c.set.timeout+min(check.held(), maxWait))
	if err != nil {
		return Decision{}, err
	}
	decision, failed := judge(reply)
	if failed != nil {
		return Decision{}, failed
	}
	return decision, nil
}

// CheckBatch asks several checks at once, and gives their decisions in the same order. More than 256 are sent in several calls.
//
// A call that fails gives OnError's decision to its own checks. With [Raise] the first call that fails ends the batch with an *[Error].
// A faulty check among others has a decision with Err in every mode.
func (c *Client) CheckBatch(ctx context.Context, checks []Check) ([]Decision, error) {
	decisions := make([]Decision, 0, len(checks))
	for len(checks) > 0 {
		part := checks[:min(batchSize, len(checks))]
		checks = checks[len(part):]
		decided, err := c.askBatch(ctx, part)
		var failed *Error
		if errors.As(err, &failed) {
			c.log.report(failed)
			if c.set.onError == Raise {
				return nil, failed
			}
			for range part {
				decided = append(decided, c.set.onError.decision(failed))
			}
		} else if err != nil {
			return nil, err
		}
		decisions = append(decisions, decided...)
	}
	return decisions, nil
}

func (c *Client) askBatch(ctx context.Context, checks []Check) ([]Decision, error) {
	body, err := json.Marshal(map[string]any{"checks": checks})
	if err != nil {
		return nil, misuse("the checks cannot be written as JSON: %v", err)
	}
	reply, err := c.call(ctx, Request{Path: "/v1/check/batch", Body: body}, c.set.timeout)
	if err != nil {
		return nil, err
	}
	decisions, failed := judgeBatch(reply, len(checks), c.set.onError)
	if failed != nil {
		return nil, failed
	}
	for _, decision := range decisions {
		if decision.Err != nil {
			c.log.report(decision.Err)
		}
	}
	return decisions, nil
}

// call sends one request within the time, with the API key. After a 401 it sends it once more if the key's file has a new key.
func (c *Client) call(ctx context.Context, request Request, within time.Duration) (Reply, error) {
	if c.closed.Load() {
		return Reply{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var err error
	if request.TraceParent, request.TraceState, err = c.set.traceOf(ctx); err != nil {
		return Reply{}, err
	}
	key, err := c.apiKey(false)
	if err != nil {
		return Reply{}, err
	}
	request.APIKey = key
	reply, err := c.transport.Do(limited, request)
	if err == nil && reply.Status == http.StatusUnauthorized && c.set.apiKeyFile != "" {
		if key, unread := c.apiKey(true); unread == nil && key != request.APIKey {
			request.APIKey = key
			reply, err = c.transport.Do(limited, request)
		}
	}
	return reply, c.explain(ctx, err, within)
}

// explain says what an error of the transport is for the caller.
func (c *Client) explain(ctx context.Context, err error, within time.Duration) error {
	var failed *Error
	switch {
	case err == nil:
		return nil
	case over(ctx) != nil:
		return over(ctx) // the caller's own, not the agent's
	case errors.As(err, &failed):
		return failed
	case errors.Is(err, context.DeadlineExceeded):
		return failure(Timeout, err, "no reply from %s within %s", c.set.address.text, within)
	case errors.Is(err, ErrMisuse):
		return err
	default:
		return failure(Protocol, err, "%v", err)
	}
}

// apiKey gives the key, from the file if that is where it is. again: although it was read before.
func (c *Client) apiKey(again bool) (string, error) {
	if c.set.apiKeyFile == "" {
		return c.set.apiKey, nil
	}
	c.key.mutex.Lock()
	defer c.key.mutex.Unlock()
	if c.key.value != "" && !again {
		return c.key.value, nil
	}
	content, err := os.ReadFile(c.set.apiKeyFile)
	if err != nil {
		return "", failure(Refused, err, "the API key's file cannot be read: %v", err)
	}
	key := strings.TrimSpace(string(content))
	if key == "" || !visible(key) {
		return "", failure(Refused, nil, "the API key's file %s must have one key of visible ASCII characters", c.set.apiKeyFile)
	}
	c.key.value = key
	return key, nil
}
