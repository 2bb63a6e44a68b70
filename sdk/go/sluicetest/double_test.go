package sluicetest_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicetest"
)

func TestADoubleFollowsItsScriptAndThenAllows(t *testing.T) {
	limit := int64(5)
	double := sluicetest.Scripted([]sluicetest.Answer{
		sluicetest.Deny(time.Second), sluicetest.Fail(sluice.Timeout), sluicetest.JSON(`{"allowed":false,"retry_after_ms":250,"reason":"fail_closed"}`),
		sluicetest.Give(sluice.Decision{Allowed: true, Limit: &limit, DowngradeTo: "small"}),
	}, sluice.WithOnError(sluice.Deny))
	var got []sluice.Decision
	for _, subject := range []string{"a", "b", "c", "d", "e"} {
		d, err := double.Check(context.Background(), sluice.Check{Resource: "r", Subject: subject, Cost: sluice.Cost(0), Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if d := got[0]; d.Allowed || *d.RetryAfter != time.Second || d.Reason != "limit_exceeded" || d.Headers.Get("Retry-After") != "1" {
		t.Errorf("%+v", d)
	}
	if d := got[1]; d.Allowed || d.Decided || d.Err.Kind != sluice.Timeout {
		t.Errorf("%+v", d)
	}
	if d := got[2]; d.Allowed || *d.RetryAfter != 250*time.Millisecond || d.Reason != "fail_closed" {
		t.Errorf("%+v", d)
	}
	if d := got[3]; !d.Allowed || *d.Limit != 5 || d.DowngradeTo != "small" {
		t.Errorf("%+v", d)
	}
	if d := got[4]; !d.Allowed || d.Reason != "within_limit" {
		t.Errorf("%+v", d)
	}
	if want := (sluice.Check{Resource: "r", Subject: "c", Cost: sluice.Cost(0), Wait: time.Second}); len(double.Checks()) != 5 || !reflect.DeepEqual(double.Checks()[2], want) {
		t.Errorf("%+v", double.Checks())
	}
}

func TestADoubleKnowsItsOpenLeases(t *testing.T) {
	ctx := context.Background()
	double := sluicetest.AlwaysAllow()
	lease, err := double.Lease(ctx, sluice.Check{Subject: "a"}, sluice.KeepAlive())
	if err != nil || len(double.OpenLeases()) != 1 || double.OpenLeases()[0] != lease.LeaseID {
		t.Errorf("%v %v", err, double.OpenLeases())
	}
	lease.End(ctx)
	if len(double.OpenLeases()) != 0 {
		t.Errorf("%v", double.OpenLeases())
	}
	if d, err := double.Check(ctx, sluice.Check{Subject: "a"}); err != nil || d.LeaseID != "" {
		t.Errorf("%v %+v", err, d)
	}
	if err := double.Close(); err != nil {
		t.Error(err)
	}
	if _, err := double.Check(ctx, sluice.Check{}); !errors.Is(err, sluice.ErrClosed) {
		t.Error(err)
	}
}

func TestADoubleMayDenyOrAnswerABatch(t *testing.T) {
	ctx := context.Background()
	deny := sluicetest.AlwaysDeny()
	if ok, err := deny.Limiter(sluice.Check{}).Allow("a"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	double := sluicetest.Scripted([]sluicetest.Answer{sluicetest.Allow(), sluicetest.Deny(0), sluicetest.Fail(sluice.Refused)}, sluice.WithOnError(sluice.Raise))
	ds, err := double.CheckBatch(ctx, make([]sluice.Check, 3))
	if err != nil || !ds[0].Allowed || ds[1].Allowed || ds[1].RetryAfter != nil || ds[2].Decided || ds[2].Err.Kind != sluice.Refused {
		t.Errorf("%v %+v", err, ds)
	}
}
