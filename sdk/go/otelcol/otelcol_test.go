package sluiceotelcol_test

import (
	"context"
	"encoding/binary"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	sluiceotelcol "sluice.dev/go/otelcol"
)

func records(service string, number int, severity plog.SeverityNumber) plog.Logs {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", service)
	scope := resource.ScopeLogs().AppendEmpty()
	for i := range number {
		record := scope.LogRecords().AppendEmpty()
		record.SetSeverityNumber(severity)
		record.Body().SetInt(int64(i))
	}
	return logs
}

func spans(service string, traces, each int) ptrace.Traces {
	made := ptrace.NewTraces()
	resource := made.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", service)
	scope := resource.ScopeSpans().AppendEmpty()
	for i := range traces * each {
		var id pcommon.TraceID
		binary.BigEndian.PutUint64(id[8:], uint64(i/each+1))
		scope.Spans().AppendEmpty().SetTraceID(id)
	}
	return made
}

func TestLogsPassWhileTheyFit(t *testing.T) {
	limiter := sluiceotelcol.New(testagent.Start(t).Client(t), sluiceotelcol.Options{})
	for _, is := range []struct{ sent, passes int }{{4, 4}, {20, 6}, {5, 0}} { // 10 an hour
		logs, err := limiter.ProcessLogs(context.Background(), records("shop", is.sent, plog.SeverityNumberInfo))
		if err != nil || logs.LogRecordCount() != is.passes {
			t.Errorf("%v, %d records of %d passed, not %d", err, logs.LogRecordCount(), is.sent, is.passes)
			continue
		}
		if is.passes == 0 {
			if logs.ResourceLogs().Len() != 0 {
				t.Error("an empty resource stays")
			}
			continue
		}
		for i, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			if record.Body().Int() != int64(i) {
				t.Errorf("record %d is %d", i, record.Body().Int())
			}
		}
	}
	if logs, err := limiter.ProcessLogs(context.Background(), records("other", 3, plog.SeverityNumberInfo)); err != nil || logs.LogRecordCount() != 3 {
		t.Errorf("%v %d", err, logs.LogRecordCount())
	}
}

func TestTheCheckOfARecord(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	var got sluice.Check
	limiter := sluiceotelcol.New(limits, sluiceotelcol.Options{Log: func(_ pcommon.Resource, _ plog.LogRecord, check *sluice.Check) { got = *check }})
	if _, err := limiter.ProcessLogs(context.Background(), records("shop", 1, plog.SeverityNumberWarn2)); err != nil {
		t.Fatal(err)
	}
	if got.Resource != "log:shop" || got.Subject != "shop" || got.Severity != "warn" || got.Service != "shop" || got.Signal != "log" {
		t.Errorf("%+v", got)
	}
}

func TestSpansOfATraceAreSampledAlike(t *testing.T) {
	limiter := sluiceotelcol.New(testagent.Start(t).Client(t), sluiceotelcol.Options{})
	kept := func(traces, each int) map[uint64]int {
		passed, err := limiter.ProcessTraces(context.Background(), spans("sampled", traces, each))
		if err != nil {
			t.Fatal(err)
		}
		counts := map[uint64]int{}
		for _, resource := range passed.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					id := span.TraceID()
					counts[binary.BigEndian.Uint64(id[8:])]++
				}
			}
		}
		return counts
	}
	kept(1, 1) // uses the limit up
	first, second := kept(1000, 3), kept(1000, 3)
	if len(first) < 400 || len(first) > 600 {
		t.Errorf("%d of 1000 traces", len(first))
	}
	for id, spans := range first {
		if spans != 3 || second[id] != 3 {
			t.Fatalf("trace %d: %d and %d spans", id, spans, second[id])
		}
	}
}

func TestTheAgentIsKilledInEachErrorMode(t *testing.T) {
	for mode, passes := range map[sluice.OnError]int{sluice.Allow: 5, sluice.Deny: 0, sluice.Raise: 5} {
		agent := testagent.Start(t)
		limiter := sluiceotelcol.New(agent.Client(t, sluice.WithOnError(mode)), sluiceotelcol.Options{})
		agent.Kill()
		if logs, err := limiter.ProcessLogs(context.Background(), records("shop", 5, plog.SeverityNumberInfo)); err != nil || logs.LogRecordCount() != passes {
			t.Errorf("%s: %v %d", mode, err, logs.LogRecordCount())
		}
		if traces, err := limiter.ProcessTraces(context.Background(), spans("shop", 1, 5)); err != nil || traces.SpanCount() != passes {
			t.Errorf("%s: %v %d", mode, err, traces.SpanCount())
		}
	}
}
