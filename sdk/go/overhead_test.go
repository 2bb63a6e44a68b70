//go:build !race

package sluice_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

// bare is what a program would write without this package: net/http with connections kept alive, and the body read.
func bare(b testing.TB, client *http.Client, agent *testagent.Agent) {
	request, err := http.NewRequest("POST", agent.URL+"/v1/check", bytes.NewReader([]byte(`{"plan_id":"lots","resource":"GET:/orders","subject":"user:42"}`)))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("X-Api-Key", agent.Key)
	request.Header.Set("Content-Type", "application/json")
	reply, err := client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.ReadAll(reply.Body)
	_ = reply.Body.Close()
	if err != nil || reply.StatusCode != 200 {
		b.Fatal(err, reply.StatusCode)
	}
}

func checked(b testing.TB, client *sluice.Client) {
	if d, err := client.Check(background, sluice.Check{PlanID: "lots", Resource: "GET:/orders", Subject: "user:42"}); err != nil || !d.Decided || !d.Allowed {
		b.Fatal(err, d.Err)
	}
}

func BenchmarkBareHTTP(b *testing.B) {
	agent, client := testagent.Start(b), &http.Client{Transport: &http.Transport{}}
	for range b.N {
		bare(b, client, agent)
	}
}

func BenchmarkCheck(b *testing.B) {
	client := testagent.Start(b).Client(b)
	for range b.N {
		checked(b, client)
	}
}

func BenchmarkCheckParallel(b *testing.B) {
	client := testagent.Start(b).Client(b)
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			checked(b, client)
		}
	})
}

func TestACheckCostsAtMostAThirdMoreThanABareHTTPCall(t *testing.T) {
	agent := testagent.Start(t)
	plain, client := &http.Client{Transport: &http.Transport{}}, agent.Client(t)
	blocks := func(each func()) time.Duration {
		begun := time.Now()
		for range 100 {
			each()
		}
		return time.Since(begun)
	}
	var ratios []float64
	var without, with []time.Duration
	for round := range 61 {
		// One beside the other, because the machine has other work.
		a, b := blocks(func() { bare(t, plain, agent) }), blocks(func() { checked(t, client) })
		if round > 0 { // the first opens the connections
			ratios, without, with = append(ratios, float64(b)/float64(a)), append(without, a/100), append(with, b/100)
		}
	}
	slices.Sort(ratios)
	slices.Sort(without)
	slices.Sort(with)
	ratio := ratios[len(ratios)/2]
	t.Logf("a bare call %s, a check %s (medians), ratio %.2f", without[len(without)/2], with[len(with)/2], ratio)
	if ratio > 1.3 {
		t.Errorf("ratio %.2f", ratio)
	}
}

// sockets counts the open files of this process. The test is for Linux.
func sockets(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(files)
}

func TestNothingLeaksAfterManyCallsAndCancellations(t *testing.T) {
	agent := testagent.Start(t)
	files, before := sockets(t), runtime.NumGoroutine()
	client := must(sluice.New(sluice.WithURL(agent.URL), sluice.WithAPIKey(agent.Key), sluice.WithTimeout(5*time.Second), sluice.WithMaxConnections(16)))(t)
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 12_500 {
				checked(t, client)
			}
		}()
	}
	group.Wait()
	goroutines(t, before)
	if open := sockets(t) - files; open > 16 {
		t.Errorf("%d connections after 100,000 calls", open)
	}
	// The agent holds these checks until they are cancelled.
	must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a", Cost: sluice.Cost(2)}))(t)
	must(client.Check(background, sluice.Check{PlanID: "soon", Subject: "a"}))(t)
	var cancelled atomic.Int32
	for worker := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range 125 {
				ctx, cancel := context.WithTimeout(background, time.Duration(worker*125+i)*5*time.Microsecond)
				_, err := client.Check(ctx, sluice.Check{PlanID: "soon", Subject: "a", Cost: sluice.Cost(1), Wait: 5 * time.Second})
				cancel()
				if errors.Is(err, context.DeadlineExceeded) {
					cancelled.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	if cancelled.Load() < 900 {
		t.Errorf("only %d of 1,000 were cancelled", cancelled.Load())
	}
	checked(t, client)
	goroutines(t, before)
	if open := sockets(t) - files; open > 16 {
		t.Errorf("%d connections after 1,000 cancelled calls", open)
	}
	_ = client.Close()
	testagent.Until(t, "all connections are closed", func() bool { return sockets(t) <= files })
}
