package sluice

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"
)

// NoWait as [Check.Wait] asks for an answer at once, also where the action of the policy is delay.
const NoWait time.Duration = -1

// maxWait is the longest wait that an agent takes in one check.
const maxWait = 24 * time.Hour

// Check is one question to the agent. The agent judges the values, not this package. Text that is not UTF-8 is sent with the replacement
// character in place of the faulty bytes.
type Check struct {
	Resource string `json:"resource,omitempty"` // what is asked for, such as GET:/orders
	Subject  string `json:"subject,omitempty"`  // the subject that is charged, such as user:42

	// Cost is how many requests this check counts as; nil is 1. See [Cost]. 0 reads the counter and charges nothing.
	Cost *int64 `json:"cost,omitempty"`
	// Costs are several units at once, such as requests and tokens.
	Costs map[string]int64 `json:"costs,omitempty"`

	// PlanID names a plan to judge by, instead of matching policies.
	PlanID string `json:"plan_id,omitempty"`

	Application   string `json:"application,omitempty"`
	Service       string `json:"service,omitempty"`
	Environment   string `json:"environment,omitempty"`
	Signal        string `json:"signal,omitempty"`
	Operation     string `json:"operation,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"`
	Method        string `json:"method,omitempty"`
	User          string `json:"user,omitempty"`
	Client        string `json:"client,omitempty"`
	ClientID      string `json:"client_id,omitempty"`
	SourceIP      string `json:"source_ip,omitempty"`
	Region        string `json:"region,omitempty"`
	Severity      string `json:"severity,omitempty"`
	SpanName      string `json:"span_name,omitempty"`
	Topic         string `json:"topic,omitempty"`
	ConsumerGroup string `json:"consumer_group,omitempty"`
	JobType       string `json:"job_type,omitempty"`
	Priority      string `json:"priority,omitempty"`

	Tags       map[string]string `json:"tags,omitempty"`       // your own dimensions tag.NAME
	Attributes map[string]string `json:"attributes,omitempty"` // your own dimensions attr.NAME

	RequestID string `json:"request_id,omitempty"` // comes back in the decision
	Explain   bool   `json:"explain,omitempty"`    // adds limits and candidates to Decision.Raw

	// LimitOverride brings limits for this check only, by the name of the limit. The API key needs may_override.
	LimitOverride map[string]int64 `json:"limit_override,omitempty"`

	// Wait is how long the agent may hold the check until it fits: rounded up to milliseconds, at most a day. 0 does not say. See [NoWait].
	Wait time.Duration `json:"-"`

	// Extra are fields that a newer agent takes and this package does not know.
	Extra map[string]any `json:"-"`
}

// Cost makes the value of [Check.Cost].
func Cost(units int64) *int64 { return &units }

// plainCheck has the fields of a Check without its methods.
type plainCheck Check

// MarshalJSON writes the check as the agent takes it.
func (c Check) MarshalJSON() ([]byte, error) {
	if c.Wait == 0 && len(c.Extra) == 0 {
		return json.Marshal(plainCheck(c))
	}
	more := maps.Clone(c.Extra)
	if c.Wait != 0 {
		if more == nil {
			more = map[string]any{}
		}
		more["wait"] = wireDuration(c.Wait)
	}
	known, err := json.Marshal(plainCheck(c))
	if err != nil {
		return nil, err
	}
	extra, err := json.Marshal(more)
	if err != nil || len(known) == len("{}") {
		return extra, err
	}
	return append(append(known[:len(known)-1], ','), extra[1:]...), nil
}

// UnmarshalJSON reads what [Check.MarshalJSON] writes. A wait without a unit is seconds, as for the agent.
func (c *Check) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*plainCheck)(c)); err != nil {
		return err
	}
	var more map[string]any
	if err := json.Unmarshal(text, &more); err != nil {
		return err
	}
	given, waits := more["wait"]
	delete(more, "wait")
	for name := range more {
		if known[name] {
			delete(more, name)
		}
	}
	if len(more) > 0 {
		c.Extra = more
	}
	if !waits {
		return nil
	}
	switch wait := given.(type) {
	case float64:
		c.Wait = time.Duration(wait * float64(time.Second))
	case string:
		parsed, err := time.ParseDuration(wait)
		if err != nil {
			return fmt.Errorf("wait must be a duration such as \"250ms\"; got %q", wait)
		}
		c.Wait = parsed
	default:
		return fmt.Errorf("wait must be a duration such as \"250ms\"; got %v", wait)
	}
	if c.Wait == 0 {
		c.Wait = NoWait
	}
	return nil
}

// known are the names of the fields of a check, without wait.
var known = func() map[string]bool {
	names := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Check]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

func wireDuration(d time.Duration) string {
	if d < 0 {
		return "0ms"
	}
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", (d+time.Millisecond-1)/time.Millisecond)
}

// held is how long the agent may hold this check.
func (c Check) held() time.Duration { return max(0, c.Wait) }
