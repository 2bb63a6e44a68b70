// Package sluiceotelcol is the core of a processor for the OpenTelemetry Collector: it drops or samples logs and spans by decision.
//
//	limiter := sluiceotelcol.New(client, sluiceotelcol.Options{})
//	logs, err = limiter.ProcessLogs(ctx, logs)   // as processorhelper.NewLogs takes it
package sluiceotelcol

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"sluice.dev/go"
)

// Options of a limiter.
type Options struct {
	// Log changes the check of a log record. It has the signal log, the service, the severity in small letters, the service as the subject,
	// and the resource log:SERVICE. Records with the same check are asked about together.
	Log func(pcommon.Resource, plog.LogRecord, *sluice.Check)
	// Span changes the check of a span. It has the signal span, the service, the service as the subject, and the resource span:SERVICE.
	Span func(pcommon.Resource, ptrace.Span, *sluice.Check)
}

// Limiter drops what limits do not let pass. It may be used by many goroutines.
type Limiter struct {
	client  *sluice.Client
	options Options
}

// New makes a limiter.
func New(client *sluice.Client, options Options) *Limiter { return &Limiter{client, options} }

// group is what has the same check: how many items, and how many of them pass.
type group struct {
	check  sluice.Check
	items  int64
	passes int64   // of the first
	share  float64 // of those after that: 0 none, 1 all
	taken  int64
}

// ProcessLogs removes the records that do not pass. Each distinct check is asked once, with the number of its records as its cost. If they do
// not all fit, as many as are left pass, in their order; of the others the share of the action sample passes, or none.
//
// With sluice.Raise, records pass if no decision was made: telemetry must not break. The error is that of ctx, or of a closed client.
func (l *Limiter) ProcessLogs(ctx context.Context, logs plog.Logs) (plog.Logs, error) {
	groups := &groups{byCheck: map[string]*group{}}
	var of []*group // of each record, in order
	for _, resource := range logs.ResourceLogs().All() {
		service := service(resource.Resource())
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				check := sluice.Check{
					Resource: "log:" + service, Subject: service, Signal: "log", Service: service, Severity: strings.ToLower(record.SeverityText()),
				}
				if check.Severity == "" && record.SeverityNumber() != plog.SeverityNumberUnspecified {
					check.Severity = strings.TrimRight(strings.ToLower(record.SeverityNumber().String()), "1234")
				}
				if l.options.Log != nil {
					l.options.Log(resource.Resource(), record, &check)
				}
				of = append(of, groups.add(check))
			}
		}
	}
	if err := l.decide(ctx, groups); err != nil {
		return logs, err
	}
	next := 0
	logs.ResourceLogs().RemoveIf(func(resource plog.ResourceLogs) bool {
		resource.ScopeLogs().RemoveIf(func(scope plog.ScopeLogs) bool {
			scope.LogRecords().RemoveIf(func(record plog.LogRecord) bool {
				group := of[next]
				next++
				// Records of one trace are sampled alike; those of none by their place.
				return !group.pass(traceShare(record.TraceID(), uint64(next)))
			})
			return scope.LogRecords().Len() == 0
		})
		return resource.ScopeLogs().Len() == 0
	})
	return logs, nil
}

// ProcessTraces is ProcessLogs for spans. What is sampled is sampled by its trace, so that all collectors take the same traces.
func (l *Limiter) ProcessTraces(ctx context.Context, traces ptrace.Traces) (ptrace.Traces, error) {
	groups := &groups{byCheck: map[string]*group{}}
	var of []*group
	for _, resource := range traces.ResourceSpans().All() {
		service := service(resource.Resource())
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				check := sluice.Check{Resource: "span:" + service, Subject: service, Signal: "span", Service: service}
				if l.options.Span != nil {
					l.options.Span(resource.Resource(), span, &check)
				}
				of = append(of, groups.add(check))
			}
		}
	}
	if err := l.decide(ctx, groups); err != nil {
		return traces, err
	}
	next := 0
	traces.ResourceSpans().RemoveIf(func(resource ptrace.ResourceSpans) bool {
		resource.ScopeSpans().RemoveIf(func(scope ptrace.ScopeSpans) bool {
			scope.Spans().RemoveIf(func(span ptrace.Span) bool {
				group := of[next]
				next++
				return !group.pass(traceShare(span.TraceID(), uint64(next)))
			})
			return scope.Spans().Len() == 0
		})
		return resource.ScopeSpans().Len() == 0
	})
	return traces, nil
}

func service(resource pcommon.Resource) string {
	if name, ok := resource.Attributes().Get("service.name"); ok && name.AsString() != "" {
		return name.AsString()
	}
	return "unknown_service"
}

// groups keep their order.
type groups struct {
	byCheck map[string]*group
	list    []*group
}

func (g *groups) add(check sluice.Check) *group {
	key, _ := json.Marshal(check) // a check can be written
	found := g.byCheck[string(key)]
	if found == nil {
		found = &group{check: check}
		g.byCheck[string(key)] = found
		g.list = append(g.list, found)
	}
	found.items++
	return found
}

// decide asks about all groups at once, and once more about those that only fit in part: a denial has charged nothing.
func (l *Limiter) decide(ctx context.Context, groups *groups) error {
	asked := groups.list
	costs := make([]int64, len(asked))
	for i, group := range asked {
		costs[i] = group.items
	}
	for part := range 2 {
		checks := make([]sluice.Check, len(asked))
		for i, group := range asked {
			checks[i] = group.check
			each := int64(1)
			if group.check.Cost != nil {
				each = *group.check.Cost
			}
			checks[i].Cost = sluice.Cost(costs[i] * each)
		}
		decisions, err := l.client.CheckBatch(ctx, checks)
		var failed *sluice.Error
		if errors.As(err, &failed) {
			for _, group := range asked {
				group.share = 1
			}
			return nil
		}
		if err != nil {
			return err
		}
		var again []*group
		var left []int64
		for i, decision := range decisions {
			group := asked[i]
			if decision.SampleRate > 0 {
				group.share = decision.SampleRate
			}
			switch {
			case decision.Allowed && decision.Reason != "sampled":
				group.passes = costs[i]
			case part == 0 && decision.Decided && decision.Remaining != nil && *decision.Remaining > 0 && *decision.Remaining < costs[i] && group.check.Cost == nil:
				again, left = append(again, group), append(left, *decision.Remaining)
			}
		}
		if asked, costs = again, left; len(asked) == 0 {
			return nil
		}
	}
	return nil
}

// pass says whether the next item of the group passes; place is its place among samples, from 0 to 1.
func (g *group) pass(place float64) bool {
	g.taken++
	return g.taken <= g.passes || place < g.share
}

// traceShare is where a trace stands among samples. Without a trace, a number takes its place.
func traceShare(trace pcommon.TraceID, number uint64) float64 {
	hash := fnv.New64a()
	if trace.IsEmpty() {
		_, _ = hash.Write(binary.BigEndian.AppendUint64(nil, number))
	} else {
		_, _ = hash.Write(trace[:])
	}
	mixed := hash.Sum64() // FNV's high bits hardly change with the last byte, so they are mixed (MurmurHash3's finalizer)
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	mixed *= 0xc4ceb9fe1a85ec53
	mixed ^= mixed >> 33
	return float64(mixed) / (math.MaxUint64 + 1.0)
}
