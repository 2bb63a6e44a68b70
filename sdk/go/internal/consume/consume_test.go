package consume

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicetest"
)

const late = `{"allowed":true,"action":"delay","delay_ms":3600000,"lease_id":"lease-1"}`

func TestALeaseWhoseMessageIsNotHandledIsGivenBack(t *testing.T) {
	check := sluice.Check{Resource: "topic:jobs"}
	double := sluicetest.Scripted([]sluicetest.Answer{sluicetest.JSON(late)})
	lease, decision, err := Admit(context.Background(), double.Client, check, time.Millisecond)
	if lease != nil || err != nil || decision.Allowed || *decision.RetryAfter != time.Hour || len(double.OpenLeases()) != 0 {
		t.Errorf("%v %v %+v %v", lease, err, decision, double.OpenLeases())
	}
	double = sluicetest.Scripted([]sluicetest.Answer{sluicetest.JSON(late)})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for len(double.OpenLeases()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel() // while the delay is waited for
	}()
	if lease, _, err := Admit(ctx, double.Client, check, Forever); lease != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", lease, err)
	}
	if open := double.OpenLeases(); len(open) != 0 {
		t.Errorf("%v", open)
	}
}
