package sluice_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

func TestALeaseEndsWithItsBlock(t *testing.T) {
	agent := testagent.Start(t)
	client := agent.Client(t)
	check := sluice.Check{PlanID: "one", Subject: "a"}
	func() {
		defer func() { _ = recover() }()
		lease := must(client.Lease(background, check))(t)
		defer lease.End(background)
		if !lease.Allowed || lease.LeaseID == "" || lease.LeaseExpiresAt.Before(time.Now()) {
			t.Errorf("%+v", lease.Decision)
		}
		if testagent.Free(t, client, check) {
			t.Error("the lease is not held")
		}
		panic("out")
	}()
	if !testagent.Free(t, client, check) {
		t.Error("a panic did not release the lease")
	}
	ctx, cancel := context.WithCancel(background)
	lease := must(client.Lease(ctx, check))(t)
	cancel()
	testagent.FreeForOthers(t, client, check)
	<-lease.Done()
	lease.End(ctx)
	if lease.Lost() {
		t.Error("lost")
	}
	var none *sluice.Lease
	none.End(background) // no lease, nothing to do
}

func TestKeepAliveRenewsALeaseBeyondItsLifeAndNoticesItsLoss(t *testing.T) {
	client := testagent.Start(t).Client(t)
	check := sluice.Check{PlanID: "brief", Subject: "a"} // 2 s
	lease := must(client.Lease(background, check, sluice.KeepAlive()))(t)
	for end := time.Now().Add(3500 * time.Millisecond); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if testagent.Free(t, client, check) {
			t.Fatal("the lease has expired")
		}
	}
	if lease.Lost() {
		t.Error("lost")
	}
	if !must(client.Release(background, lease.LeaseID))(t) {
		t.Error("not released")
	}
	testagent.Until(t, "the loss is noticed", lease.Lost)
	lease.End(background)
}

func TestReleaseAndRenew(t *testing.T) {
	client := testagent.Start(t).Client(t, sluice.WithOnError(sluice.Raise))
	d := must(client.Check(background, sluice.Check{PlanID: "one", Subject: "a"}))(t)
	if end := must(client.Renew(background, d.LeaseID))(t); end.Before(d.LeaseExpiresAt) {
		t.Errorf("%s is before %s", end, d.LeaseExpiresAt)
	}
	if !must(client.Release(background, d.LeaseID))(t) || must(client.Release(background, d.LeaseID))(t) {
		t.Error("a lease is released once")
	}
	if end := must(client.Renew(background, d.LeaseID))(t); !end.IsZero() {
		t.Errorf("renewed a lease that is gone, to %s", end)
	}
	var failed *sluice.Error
	if _, err := client.Release(background, "nonsense"); !errors.As(err, &failed) || failed.Kind != sluice.Refused || failed.Status != 422 {
		t.Errorf("%v", err)
	}
}

func TestWaitReturnsWhenTheCheckPasses(t *testing.T) {
	agent := testagent.Start(t, "--max-wait", "100ms") // shorter than what the check has to wait
	client := agent.Client(t)
	check := sluice.Check{PlanID: "soon", Subject: "a"}
	begun := time.Now()
	for range 3 {
		if d := must(client.Wait(background, check, 10*time.Second))(t); !d.Allowed || !d.Decided {
			t.Errorf("%+v", d)
		}
	}
	if took := time.Since(begun); took < 400*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	// What cannot pass in time is denied at once.
	must(client.Wait(background, sluice.Check{PlanID: "two", Subject: "b", Cost: sluice.Cost(2)}, 0))(t)
	begun = time.Now()
	if d := must(client.Wait(background, sluice.Check{PlanID: "two", Subject: "b"}, 20*time.Second))(t); d.Allowed || !d.Decided {
		t.Errorf("%+v", d)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if _, err := client.Wait(background, check, -1); !errors.Is(err, sluice.ErrMisuse) {
		t.Errorf("%v", err)
	}
}

func TestWaitSleepsTheDelayOnlyIfItFits(t *testing.T) {
	client := testagent.Start(t).Client(t)
	must(client.Check(background, sluice.Check{PlanID: "delayed", Subject: "a"}))(t)
	begun := time.Now()
	d := must(client.Wait(background, sluice.Check{PlanID: "delayed", Subject: "a"}, 5*time.Second))(t)
	if !d.Allowed || d.Delay != 0 || time.Since(begun) < 150*time.Millisecond {
		t.Errorf("%+v after %s", d, time.Since(begun))
	}
	must(client.Check(background, sluice.Check{PlanID: "slow", Subject: "b"}))(t)
	d = must(client.Wait(background, sluice.Check{PlanID: "slow", Subject: "b"}, 60*time.Millisecond))(t)
	if d.Allowed && d.Delay < time.Second {
		t.Errorf("%+v", d)
	}
}

func TestWaitAsksAnAbsentAgentAgainAndIsCancelled(t *testing.T) {
	agent := testagent.Start(t)
	client := agent.Client(t)
	agent.Kill()
	go func() {
		time.Sleep(250 * time.Millisecond)
		agent.Restart()
	}()
	if d := must(client.Wait(background, sluice.Check{PlanID: "two", Subject: "a"}, 30*time.Second))(t); !d.Decided || !d.Allowed {
		t.Errorf("%+v %v", d, d.Err)
	}
	agent.Kill()
	ctx, cancel := context.WithTimeout(background, 150*time.Millisecond)
	defer cancel()
	if _, err := client.Wait(ctx, sluice.Check{PlanID: "two", Subject: "a"}, 30*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if d := must(client.Wait(background, sluice.Check{PlanID: "two", Subject: "a"}, 150*time.Millisecond))(t); d.Decided || d.Err.Kind != sluice.Unreachable {
		t.Errorf("%+v", d)
	}
}

func TestWaitDoesNotAskWithoutEndWhenAnAgentSaysNow(t *testing.T) {
	var asked atomic.Int32
	url := server(t, func(c net.Conn) {
		reader := bufio.NewReader(c)
		for request(reader) != nil {
			asked.Add(1)
			_, _ = io.WriteString(c, reply(429, `{"allowed":false,"retry_after_ms":0}`))
		}
	})
	d := must(client(t, url).Wait(background, sluice.Check{Subject: "a"}, 200*time.Millisecond))(t)
	if d.Allowed || d.Action != "deny" || asked.Load() < 2 || asked.Load() > 40 {
		t.Errorf("%+v, asked %d times", d, asked.Load())
	}
}
