package main

import (
	"encoding/json"
	"strings"
	"time"

	"sluice.dev/go"
)

// onTheWire gives a decision's members the names that an agent writes.
func onTheWire(entry json.RawMessage) string {
	var members map[string]any
	if err := json.Unmarshal(entry, &members); err != nil {
		return string(entry)
	}
	for name, written := range map[string]string{"policy": "policy_id", "plan": "plan_id", "reset": "reset_at"} {
		if value, there := members[name]; there {
			delete(members, name)
			members[written] = value
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return string(entry)
	}
	return string(text)
}

func seconds(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Unix()
}

func milliseconds(d *time.Duration) any {
	if d == nil {
		return nil
	}
	return float64(*d) / float64(time.Millisecond)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func errorMembers(err *sluice.Error) map[string]any {
	return map[string]any{"kind": err.Kind, "status": err.Status, "code": err.Code, "detail": err.Detail, "errors": err.Errors, "message": err.Error()}
}

func decisionMembers(d sluice.Decision) map[string]any {
	members := map[string]any{
		"allowed": d.Allowed, "success": d.Success(), "reason": d.Reason, "action": d.Action,
		"limit": d.Limit, "remaining": d.Remaining, "reset": seconds(d.Reset), "retry_after_ms": milliseconds(d.RetryAfter),
		"delay_ms": milliseconds(&d.Delay), "waited_ms": milliseconds(&d.Waited),
		"policy": orNull(d.Policy), "policy_version": nil, "plan": orNull(d.Plan), "limit_name": orNull(d.LimitName),
		"shadow": d.Shadow, "would_allow": d.WouldAllow, "over_limit": d.OverLimit,
		"sample_rate": nil, "downgrade_to": orNull(d.DowngradeTo), "metadata": nil,
		"lease_id": orNull(d.LeaseID), "lease_expires_at": seconds(d.LeaseExpiresAt),
		"status": d.Status, "request_id": orNull(d.RequestID), "decided": d.Decided, "error": nil, "raw": d.Raw,
	}
	if d.PolicyVersion != 0 {
		members["policy_version"] = d.PolicyVersion
	}
	if _, there := d.Raw["sample_rate"]; there {
		members["sample_rate"] = d.SampleRate
	}
	if d.Metadata != nil {
		members["metadata"] = d.Metadata
	}
	if d.Raw == nil {
		members["raw"] = map[string]any{}
	}
	if d.Err != nil {
		members["error"] = errorMembers(d.Err)
	}
	headers := map[string]string{}
	for name, values := range d.ToHeaders() {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	members["headers"] = headers
	return members
}
