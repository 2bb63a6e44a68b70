// What one decision costs in limiters of other libraries that live inside a Go program.
//
//	peers [-rounds N] [-subjects N]     prints JSON, as bench_library does
//
// Each library counts by key, as a program does that limits its users. Limits are so high that nothing is denied. "One"
// is one subject; "many" goes through all subjects in random order.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

const (
	limit       = 1_000_000_000
	window      = time.Hour
	oneSubjects = 200_000 // calls of a round with one subject
)

// allow judges one call of a subject.
type allow func(subject string) bool

// goLimiter is a token bucket that is refilled at the end of each window, which is what others call a fixed window.
func goLimiter() allow {
	store, err := memorystore.New(&memorystore.Config{Tokens: limit, Interval: window, SweepInterval: 24 * time.Hour, SweepMinTTL: 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	return func(subject string) bool {
		_, _, _, ok, err := store.Take(ctx, subject)
		return ok && err == nil
	}
}

func fixedWindow() allow {
	store := ululememory.NewStore()
	limiter := ulule.New(store, ulule.Rate{Period: window, Limit: limit})
	ctx := context.Background()
	return func(subject string) bool {
		state, err := limiter.Get(ctx, subject)
		return err == nil && !state.Reached
	}
}

// tokenBucket is golang.org/x/time/rate in the map that its users put around it.
func tokenBucket() allow {
	var buckets sync.Map
	return func(subject string) bool {
		found, ok := buckets.Load(subject)
		if !ok {
			found, _ = buckets.LoadOrStore(subject, rate.NewLimiter(rate.Limit(0.1), limit))
		}
		return found.(*rate.Limiter).Allow()
	}
}

type row struct {
	Name        string  `json:"name"`
	Keys        string  `json:"keys"`
	Min         float64 `json:"ns_min"`
	Median      float64 `json:"ns_median"`
	Allocations float64 `json:"allocations"`
	run         func(times int)
	times       int
	ns          []float64
}

func (r *row) measure() {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	r.run(r.times)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	r.ns = append(r.ns, float64(took.Nanoseconds())/float64(r.times))
	r.Allocations = float64(after.Mallocs-before.Mallocs) / float64(r.times)
}

func main() {
	rounds := flag.Int("rounds", 7, "how often each row is measured")
	subjectCount := flag.Int("subjects", 1_000_000, "how many subjects the rows with many keys go through")
	flag.Parse()
	if *rounds < 1 || *subjectCount < 1 {
		log.Fatal("peers: -rounds and -subjects are numbers above 0")
	}
	subjects := make([]string, *subjectCount)
	for i, number := range rand.New(rand.NewSource(1)).Perm(*subjectCount) {
		subjects[i] = fmt.Sprintf("user:%07d", number)
	}

	var rows []*row
	for _, peer := range []struct {
		name string
		make func() allow
	}{
		{"go-limiter, fixed window", goLimiter},
		{"ulule/limiter, fixed window", fixedWindow},
		{"x/time/rate by key, token bucket", tokenBucket},
	} {
		ask := peer.make()
		next := 0
		rows = append(rows, &row{Name: peer.name, Keys: "one", times: oneSubjects, run: func(times int) {
			for range times {
				if !ask("user:0000000") {
					log.Fatalf("peers: %s denies", peer.name)
				}
			}
		}}, &row{Name: peer.name, Keys: "many", times: *subjectCount, run: func(times int) {
			for range times {
				if !ask(subjects[next]) {
					log.Fatalf("peers: %s denies", peer.name)
				}
				next = (next + 1) % len(subjects)
			}
		}})
	}
	for _, each := range rows { // fills the tables
		each.run(each.times)
	}
	for range *rounds {
		for _, each := range rows {
			each.measure()
		}
	}
	for _, each := range rows {
		each.Min, each.Median = slices.Min(each.ns), each.ns[0]
		slices.Sort(each.ns)
		each.Median = each.ns[len(each.ns)/2]
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"subjects": *subjectCount, "rows": rows}); err != nil {
		log.Fatal(err)
	}
}
