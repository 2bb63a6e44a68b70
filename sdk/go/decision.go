package sluice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Decision is the agent's answer to a check, or what [OnError] gives without an answer.
type Decision struct {
	Allowed bool   // whether the request may go on
	Reason  string // within_limit, limit_exceeded, ..., or error without an answer
	Action  string // what the policy's action made of it: allow, deny, delay, ...

	Limit      *int64         // of the limit that decides; nil if the reply names none
	Remaining  *int64         // what is left of that limit
	Reset      time.Time      // when the whole limit is back; zero if unknown
	RetryAfter *time.Duration // how long until the same check would pass: 0 if allowed, nil if never or unknown
	Delay      time.Duration  // how long to wait before the request is served
	Waited     time.Duration  // how long the agent held the check

	Policy        string // the policy that decided
	PolicyVersion int64
	Plan          string
	LimitName     string

	Shadow     bool // a policy in shadow mode judged: the request passes
	WouldAllow bool // whether it would pass if that policy were enforced
	OverLimit  bool // whether it is over a limit

	SampleRate  float64 // of the action sample
	DowngradeTo string  // of the action downgrade
	Metadata    map[string]any

	LeaseID        string
	LeaseExpiresAt time.Time

	Headers   http.Header // the rate limit headers of the reply; nil in a batch
	Status    int         // HTTP status of the reply; in a batch of its result; 0 without a reply
	RequestID string

	Decided bool   // whether an agent decided
	Err     *Error // why none did

	// Raw is the body of the reply, with members that this package does not know. Numbers are [json.Number].
	Raw map[string]any
}

// Success is Allowed.
func (d Decision) Success() bool { return d.Allowed }

// ToHeaders gives the rate limit headers to send on to the caller.
func (d Decision) ToHeaders() http.Header { return d.Headers.Clone() }

// sendOn says whether a header of the reply is one of the rate limit headers.
func sendOn(name string) bool {
	name = strings.ToLower(name)
	return name == "ratelimit" || name == "retry-after" || strings.HasPrefix(name, "ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}

// rateLimitHeaders picks the rate limit headers of a reply.
func rateLimitHeaders(all http.Header) http.Header {
	picked := maps.Clone(all)
	maps.DeleteFunc(picked, func(name string, _ []string) bool { return !sendOn(name) })
	return picked
}

// object reads a body that is exactly one JSON object.
func object(body []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("null is no object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return members, nil
}

// Members of a wrong type count as absent: the caller still gets the decision.

func text(members map[string]any, name string) string {
	value, _ := members[name].(string)
	return value
}

func flag(members map[string]any, name string) (value, there bool) {
	value, there = members[name].(bool)
	return value, there
}

func number(members map[string]any, name string) (float64, bool) {
	written, ok := members[name].(json.Number)
	if !ok {
		return 0, false
	}
	value, err := written.Float64()
	return value, err == nil
}

func whole(members map[string]any, name string) *int64 {
	value, ok := number(members, name)
	if !ok || math.Abs(value) >= math.MaxInt64 {
		return nil
	}
	rounded := int64(value)
	if exact, err := members[name].(json.Number).Int64(); err == nil {
		rounded = exact
	}
	return &rounded
}

// span reads milliseconds that are not negative. What no time.Duration can hold is the longest one.
func span(members map[string]any, name string) *time.Duration {
	value, ok := number(members, name)
	if !ok || value < 0 {
		return nil
	}
	span := time.Duration(math.MaxInt64)
	if nanoseconds := value * float64(time.Millisecond); nanoseconds < math.MaxInt64 {
		span = time.Duration(nanoseconds)
	}
	return &span
}

func instant(members map[string]any, name string) time.Time {
	seconds, ok := number(members, name)
	if !ok || seconds <= 0 || seconds > 1e11 {
		return time.Time{}
	}
	fraction := seconds - math.Floor(seconds)
	return time.Unix(int64(seconds), int64(fraction*1e9))
}

// readDecision reads a decision of the members of a reply. False: they are none.
func readDecision(members map[string]any, status int) (Decision, bool) {
	allowed, ok := flag(members, "allowed")
	if !ok {
		return Decision{}, false
	}
	decision := Decision{
		Allowed: allowed, Reason: text(members, "reason"), Action: text(members, "action"),
		Limit: whole(members, "limit"), Remaining: whole(members, "remaining"), Reset: instant(members, "reset_at"),
		RetryAfter: span(members, "retry_after_ms"),
		Policy:     text(members, "policy_id"), Plan: text(members, "plan_id"), LimitName: text(members, "limit_name"),
		DowngradeTo: text(members, "downgrade_to"),
		LeaseID:     text(members, "lease_id"), LeaseExpiresAt: instant(members, "lease_expires_at"),
		Status: status, RequestID: text(members, "request_id"), Decided: true, Raw: members,
	}
	if allowed {
		decision.RetryAfter = new(time.Duration)
	}
	if decision.Action == "" {
		decision.Action = map[bool]string{true: "allow", false: "deny"}[allowed]
	}
	if delay := span(members, "delay_ms"); delay != nil {
		decision.Delay = *delay
	}
	if waited := span(members, "waited_ms"); waited != nil {
		decision.Waited = *waited
	}
	if version := whole(members, "policy_version"); version != nil {
		decision.PolicyVersion = *version
	}
	decision.Shadow, _ = flag(members, "shadow")
	if decision.WouldAllow, ok = flag(members, "would_allow"); !ok {
		decision.WouldAllow = allowed
	}
	if decision.OverLimit, ok = flag(members, "over_limit"); !ok {
		decision.OverLimit = slices.Contains([]string{"limit_exceeded", "sampled"}, decision.Reason)
	}
	decision.SampleRate, _ = number(members, "sample_rate")
	decision.Metadata, _ = members["metadata"].(map[string]any)
	return decision, true
}

// withoutAgent says of a decision that the agent could not judge.
func withoutAgent(decision Decision) bool {
	return !decision.Allowed && (decision.Reason == "overload" || decision.Reason == "no_snapshot")
}

// requestID gives the id of a reply whose body has none.
func (r Reply) requestID(inBody string) string {
	if inBody != "" {
		return inBody
	}
	return r.Header.Get("X-Request-Id")
}

// mayDecide says of a status whether its body can be a decision.
func mayDecide(status int) bool {
	return status >= 200 && status < 300 || status == http.StatusTooManyRequests || status >= 500
}

// judge reads the reply to a check.
func judge(reply Reply) (Decision, *Error) {
	members, err := object(reply.Body)
	if err == nil && mayDecide(reply.Status) {
		decision, ok := readDecision(members, reply.Status)
		if ok && !(reply.Status >= 500 && withoutAgent(decision)) {
			decision.Headers, decision.RequestID = rateLimitHeaders(reply.Header), reply.requestID(decision.RequestID)
			return decision, nil
		}
	}
	return Decision{}, withoutDecision(reply, "boolean `allowed`")
}

// withoutDecision is the error of a reply that does not have what it should.
func withoutDecision(reply Reply, wanted string) *Error {
	if !mayDecide(reply.Status) || reply.Status >= 500 {
		refused := refusal(reply.Status, reply.Body)
		refused.requestID = reply.requestID(refused.requestID)
		return refused
	}
	return &Error{Kind: Protocol, Status: reply.Status, Detail: fmt.Sprintf("the reply (status %d) is no JSON object with the %s", reply.Status, wanted)}
}

// judgeBatch reads the reply to a batch of so many checks. A faulty check among them has a decision with an error.
func judgeBatch(reply Reply, checks int, onError OnError) ([]Decision, *Error) {
	members, err := object(reply.Body)
	results, ok := members["results"].([]any)
	if err != nil || reply.Status != http.StatusOK || !ok {
		return nil, withoutDecision(reply, "list `results`")
	}
	if len(results) != checks {
		return nil, &Error{Kind: Protocol, Status: reply.Status, Detail: fmt.Sprintf("the reply has %d results for %d checks", len(results), checks)}
	}
	decisions := make([]Decision, checks)
	for i, result := range results {
		members, _ := result.(map[string]any)
		decision, ok := readDecision(members, http.StatusOK)
		status := whole(members, "status")
		switch {
		case ok && withoutAgent(decision):
			decision = onError.decision(problem(http.StatusServiceUnavailable, members))
		case ok && !decision.Allowed:
			decision.Status = http.StatusTooManyRequests
		case ok:
		case status != nil:
			decision = onError.decision(problem(int(*status), members))
		default:
			decision = onError.decision(&Error{Kind: Protocol, Status: reply.Status, Detail: "a result of the batch is no decision"})
		}
		decisions[i] = decision
	}
	return decisions, nil
}

func problem(status int, members map[string]any) *Error {
	body, _ := json.Marshal(members) // it was read from JSON
	return refusal(status, body)
}
