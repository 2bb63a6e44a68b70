// Package web is what the middlewares of all HTTP frameworks have in common. Take sluice.dev/go/sluicehttp for net/http, or the module of
// your framework; take this package to write one for another framework.
package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sluice.dev/go"
)

// Unmatched is the endpoint of a request that no route matches.
const Unmatched = "{unmatched}"

// defaultMaxDelay is the longest delay of a decision that is waited for.
const defaultMaxDelay = time.Second

// longestValue is how many bytes an agent takes.
const longestValue = 256

// Options say what is checked. R is the framework's request, such as *http.Request.
type Options[R any] struct {
	// Key gives the subject of a request, such as "user:42". Nil, or an empty text: the client's address. What an agent would refuse, more
	// than 256 bytes or no UTF-8, is replaced by sha256: and its hash; otherwise a long header would pass without a limit.
	Key func(R) string
	// Cost gives how many requests a request counts as. Nil: 1.
	Cost func(R) int64
	// Exempt says whether a request is not checked.
	Exempt func(R) bool
	// Routes are exceptions for single routes, by "GET /users/{id}" or, for all methods, "/users/{id}". Parameters are written in braces,
	// whatever the framework writes.
	Routes map[string]Route[R]
	// MaxDelay is the longest delay of a decision that is waited for; a longer one is a denial. 0: 1 s. Negative: none is waited for.
	MaxDelay time.Duration
}

// Route is what differs for one route.
type Route[R any] struct {
	Resource string         // instead of METHOD:ENDPOINT
	PlanID   string         // a plan to judge by, instead of policies
	Key      func(R) string // instead of Options.Key
	Cost     func(R) int64  // instead of Options.Cost
	Exempt   bool           // no check
}

// Fixed is a cost that is the same for all requests: Route[R]{Cost: web.Fixed[R](5)}.
func Fixed[R any](cost int64) func(R) int64 { return func(R) int64 { return cost } }

// Facts are what a framework knows of a request.
type Facts struct {
	Method   string
	Endpoint string // the route's pattern as Braces or Colons make it; empty if no route matches
	Address  string // the client's, with or without a port
	// TraceParent and TraceState are the request's headers. The check carries them unless the context or the client has others.
	TraceParent, TraceState string
	// Fill sets more fields of the check, if it is not nil.
	Fill func(*sluice.Check)
}

// Guard checks requests.
type Guard[R any] struct {
	client  *sluice.Client
	options Options[R]
	routes  map[string]Route[R] // by METHOD:ENDPOINT or ENDPOINT
}

// New makes a guard.
func New[R any](client *sluice.Client, options Options[R]) *Guard[R] {
	guard := &Guard[R]{client, options, map[string]Route[R]{}}
	if guard.options.MaxDelay == 0 {
		guard.options.MaxDelay = defaultMaxDelay
	}
	for name, route := range options.Routes {
		if method, endpoint, found := strings.Cut(name, " "); found {
			name = method + ":" + strings.TrimLeft(endpoint, " ")
		}
		guard.routes[name] = route
	}
	return guard
}

// Pass is what a guard found. Its lease, if there is one, is held until End.
type Pass struct {
	sluice.Decision
	Exempt bool // no check was made
	Denied bool // the handler must not run

	lease  *sluice.Lease
	unbind func() bool // forgets the end of the request's context
}

// Enter checks a request, and waits for the delay of the decision. The error is that of ctx: the client has gone away.
// The lease of the decision also ends when ctx is done.
func (g *Guard[R]) Enter(ctx context.Context, request R, facts Facts) (*Pass, error) {
	if facts.Endpoint == "" {
		facts.Endpoint = Unmatched
	}
	resource := facts.Method + ":" + facts.Endpoint
	route, found := g.routes[resource]
	if !found {
		route = g.routes[facts.Endpoint]
	}
	if route.Exempt || (g.options.Exempt != nil && g.options.Exempt(request)) {
		return &Pass{Exempt: true, Decision: sluice.Decision{Allowed: true}}, nil
	}
	check := sluice.Check{Resource: resource, Endpoint: facts.Endpoint, Method: facts.Method, PlanID: route.PlanID}
	if route.Resource != "" {
		check.Resource = route.Resource
	}
	check.Subject, check.SourceIP = subjects(facts.Address)
	if key := first(route.Key, g.options.Key); key != nil {
		if subject := key(request); subject != "" {
			check.Subject = subject
		}
	}
	if cost := first(route.Cost, g.options.Cost); cost != nil {
		check.Cost = sluice.Cost(cost(request))
	}
	if facts.Fill != nil {
		facts.Fill(&check)
	}
	for _, value := range []*string{&check.Resource, &check.Subject, &check.Endpoint, &check.Method, &check.Service, &check.Operation} {
		*value = fit(*value)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The check is not cancelled when the client goes away: it may take a lease, and only its reply tells which.
	asking := sluice.ContextWithIncomingTrace(context.WithoutCancel(ctx), facts.TraceParent, facts.TraceState)
	lease, err := g.client.Lease(asking, check, sluice.KeepAlive())
	var failed *sluice.Error
	switch {
	case errors.As(err, &failed):
		return &Pass{Denied: true, Decision: sluice.Decision{Reason: "error", Action: "deny", Status: failed.Status, Err: failed}}, nil
	case errors.Is(err, sluice.ErrMisuse): // the client is closed
		closed := &sluice.Error{Kind: sluice.Unreachable, Detail: err.Error(), Err: err}
		return &Pass{Denied: true, Decision: sluice.Decision{Reason: "error", Action: "deny", Err: closed}}, nil
	case err != nil:
		return nil, err
	}
	pass := &Pass{Decision: lease.Decision, Denied: !lease.Allowed, lease: lease}
	if lease.LeaseID != "" {
		pass.unbind = context.AfterFunc(ctx, func() { lease.End(context.Background()) })
	}
	if err := ctx.Err(); err != nil {
		pass.End()
		return nil, err
	}
	if pass.Denied || pass.Delay <= 0 {
		return pass, nil
	}
	if pass.Delay > g.options.MaxDelay {
		pass.End()
		pass.Denied, pass.RetryAfter = true, &pass.Delay
		return pass, nil
	}
	if err := sleep(ctx, pass.Delay); err != nil {
		pass.End()
		return nil, err
	}
	return pass, nil
}

// End releases the lease: the response has been sent, or will not be.
func (p *Pass) End() {
	if p.unbind != nil {
		p.unbind()
	}
	if p.lease != nil {
		p.lease.End(context.Background()) // the client has logged it; the lease ends by itself
	}
}

func first[R, V any](functions ...func(R) V) func(R) V {
	for _, function := range functions {
		if function != nil {
			return function
		}
	}
	return nil
}

// fit replaces a value that an agent would refuse.
func fit(value string) string {
	if len(value) <= longestValue && utf8.ValidString(value) {
		return value
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(value)))
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type passKey struct{}

// WithPass puts a pass into the context of a request.
func WithPass(ctx context.Context, pass *Pass) context.Context {
	return context.WithValue(ctx, passKey{}, pass)
}

// Decision gives the decision about the request of this context. False: it was not checked.
func Decision(ctx context.Context) (sluice.Decision, bool) {
	pass, ok := ctx.Value(passKey{}).(*Pass)
	if !ok || pass.Exempt {
		return sluice.Decision{}, false
	}
	return pass.Decision, true
}
