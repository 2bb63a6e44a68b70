// Package sluicetest has clients for tests that need no agent.
//
//	double := sluicetest.Scripted([]sluicetest.Answer{sluicetest.Deny(time.Second), sluicetest.Fail(sluice.Timeout)})
//	handler := New(double.Client) // your program
//	...
//	double.Checks() // what it asked
package sluicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice.dev/go"
)

// Double is a client whose answers are known beforehand. It may be used by many goroutines.
type Double struct {
	*sluice.Client
	agent *agent
}

// Answer is what a double answers to one check.
type Answer struct {
	members map[string]any
	failure *sluice.Error
}

// Allow lets the request pass.
func Allow() Answer {
	return Answer{members: map[string]any{"allowed": true, "action": "allow", "reason": "within_limit", "retry_after_ms": 0}}
}

// Deny denies the request. It would pass after retryAfter; if that is 0, it never would.
func Deny(retryAfter time.Duration) Answer {
	members := map[string]any{"allowed": false, "action": "deny", "reason": "limit_exceeded", "retry_after_ms": nil}
	if retryAfter > 0 {
		members["retry_after_ms"] = milliseconds(retryAfter)
	}
	return Answer{members: members}
}

// Fail is the error of a call that gives no decision.
func Fail(kind sluice.Kind) Answer {
	return Answer{failure: &sluice.Error{Kind: kind, Detail: "scripted"}}
}

// JSON is the body of an agent's reply, such as {"allowed":false,"retry_after_ms":1000}. It panics if the text is no JSON object.
func JSON(body string) Answer {
	members := Allow().members
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		panic(fmt.Sprintf("sluicetest.JSON: %v", err))
	}
	if members["allowed"] == false {
		for name, value := range map[string]any{"action": "deny", "reason": "limit_exceeded"} {
			if !strings.Contains(body, `"`+name+`"`) {
				members[name] = value
			}
		}
		if !strings.Contains(body, `"retry_after_ms"`) {
			members["retry_after_ms"] = 1000.0
		}
	}
	return Answer{members: members}
}

// Give is that decision. Empty Reason and Action become those of a usual one.
func Give(decision sluice.Decision) Answer {
	answer := Deny(0)
	if decision.Allowed {
		answer = Allow()
	}
	members := answer.members
	for name, value := range map[string]string{
		"reason": decision.Reason, "action": decision.Action, "policy_id": decision.Policy, "plan_id": decision.Plan,
		"limit_name": decision.LimitName, "downgrade_to": decision.DowngradeTo, "lease_id": decision.LeaseID, "request_id": decision.RequestID,
	} {
		if value != "" {
			members[name] = value
		}
	}
	if decision.Limit != nil {
		members["limit"] = *decision.Limit
	}
	if decision.Remaining != nil {
		members["remaining"] = *decision.Remaining
	}
	if decision.RetryAfter != nil {
		members["retry_after_ms"] = milliseconds(*decision.RetryAfter)
	}
	for name, value := range map[string]time.Duration{"delay_ms": decision.Delay, "waited_ms": decision.Waited} {
		if value != 0 {
			members[name] = milliseconds(value)
		}
	}
	for name, value := range map[string]time.Time{"reset_at": decision.Reset, "lease_expires_at": decision.LeaseExpiresAt} {
		if !value.IsZero() {
			members[name] = value.Unix()
		}
	}
	if decision.Shadow {
		members["shadow"], members["would_allow"], members["over_limit"] = true, decision.WouldAllow, decision.OverLimit
	}
	if decision.SampleRate != 0 {
		members["sample_rate"] = decision.SampleRate
	}
	if decision.Metadata != nil {
		members["metadata"] = decision.Metadata
	}
	if decision.PolicyVersion != 0 {
		members["policy_version"] = decision.PolicyVersion
	}
	return Answer{members: members}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// AlwaysAllow makes a double that allows every check.
func AlwaysAllow(options ...sluice.Option) *Double { return double(&agent{then: Allow()}, options) }

// AlwaysDeny makes a double that denies every check. Its retry time is 1 s.
func AlwaysDeny(options ...sluice.Option) *Double {
	return double(&agent{then: Deny(time.Second)}, options)
}

// Scripted makes a double that gives these answers in the order of its checks, and then allows.
func Scripted(script []Answer, options ...sluice.Option) *Double {
	return double(&agent{script: slices.Clone(script), then: Allow()}, options)
}

func double(behind *agent, options []sluice.Option) *Double {
	client, err := sluice.New(append(options, sluice.WithAPIKey("double"), sluice.WithURL("http://double.invalid"), sluice.WithTransport(behind))...)
	if err != nil {
		panic(fmt.Sprintf("sluicetest: %v", err)) // an option is wrong
	}
	return &Double{client, behind}
}

// Checks gives the checks that were asked so far, in their order.
func (d *Double) Checks() []sluice.Check {
	d.agent.mutex.Lock()
	defer d.agent.mutex.Unlock()
	return slices.Clone(d.agent.checks)
}

// OpenLeases gives the ids of the leases that were taken and not released, in their order.
func (d *Double) OpenLeases() []string {
	d.agent.mutex.Lock()
	defer d.agent.mutex.Unlock()
	return slices.Clone(d.agent.leases)
}

// agent answers in the place of one.
type agent struct {
	mutex  sync.Mutex
	script []Answer
	then   Answer
	checks []sluice.Check
	leases []string
	taken  int // leases without an id in the script
}

func (a *agent) Close() error { return nil }

func (a *agent) Do(ctx context.Context, request sluice.Request) (sluice.Reply, error) {
	if err := ctx.Err(); err != nil {
		return sluice.Reply{}, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch request.Path {
	case "/v1/check":
		var check sluice.Check
		if err := json.Unmarshal(request.Body, &check); err != nil {
			return sluice.Reply{}, err
		}
		answer := a.answer(check)
		if answer.failure != nil {
			return sluice.Reply{}, answer.failure
		}
		return reply(a.withLease(answer.members, request.Lease)), nil
	case "/v1/check/batch":
		var batch struct{ Checks []sluice.Check }
		if err := json.Unmarshal(request.Body, &batch); err != nil {
			return sluice.Reply{}, err
		}
		results := []any{}
		for _, check := range batch.Checks {
			answer := a.answer(check)
			if answer.failure != nil {
				results = append(results, map[string]any{"status": status(answer.failure.Kind), "detail": answer.failure.Detail})
				continue
			}
			results = append(results, answer.members)
		}
		return reply(map[string]any{"results": results}), nil
	default: // release and renew
		var lease struct {
			ID string `json:"lease_id"`
		}
		if err := json.Unmarshal(request.Body, &lease); err != nil {
			return sluice.Reply{}, err
		}
		place := slices.Index(a.leases, lease.ID)
		if request.Path == "/v1/renew" {
			return reply(map[string]any{"renewed": place >= 0, "lease_expires_at": time.Now().Add(time.Minute).Unix()}), nil
		}
		if place >= 0 {
			a.leases = slices.Delete(a.leases, place, place+1)
		}
		return reply(map[string]any{"released": place >= 0}), nil
	}
}

func (a *agent) answer(check sluice.Check) Answer {
	a.checks = append(a.checks, check)
	answer := a.then
	if len(a.script) > 0 {
		answer, a.script = a.script[0], a.script[1:]
	}
	return answer
}

// withLease opens the lease of a check that was allowed, if the caller holds leases or the script names one.
func (a *agent) withLease(members map[string]any, held bool) map[string]any {
	id, _ := members["lease_id"].(string)
	if members["allowed"] != true || (id == "" && !held) {
		return members
	}
	members = maps.Clone(members)
	if id == "" {
		a.taken++
		id = fmt.Sprintf("lease-%d", a.taken)
		members["lease_id"] = id
	}
	a.leases = append(a.leases, id)
	return members
}

func status(kind sluice.Kind) int {
	if kind == sluice.Refused {
		return http.StatusUnprocessableEntity
	}
	return http.StatusServiceUnavailable
}

func reply(members map[string]any) sluice.Reply {
	body, err := json.Marshal(members)
	if err != nil {
		panic(fmt.Sprintf("sluicetest: %v", err)) // metadata of a scripted decision
	}
	code := http.StatusOK
	if members["allowed"] == false {
		code = http.StatusTooManyRequests
	}
	header := http.Header{}
	if after, ok := members["retry_after_ms"].(float64); ok && after > 0 {
		header.Set("Retry-After", fmt.Sprint(int64((after+999)/1000)))
	}
	return sluice.Reply{Status: code, Header: header, Body: body}
}
