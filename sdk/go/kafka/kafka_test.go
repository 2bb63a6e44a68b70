package sluicekafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	sluicekafka "sluice.dev/go/kafka"
)

// cluster starts brokers with these topics of one partition each, and fills them with the values 0, 1, ...
func cluster(t *testing.T, records int, topics ...string) []kgo.Opt {
	t.Helper()
	brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	seeds := kgo.SeedBrokers(brokers.ListenAddrs()...)
	producer, err := kgo.NewClient(seeds)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, topic := range topics {
		for i := range records {
			if err := producer.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []kgo.Opt{seeds, kgo.ConsumeTopics(topics...), kgo.ConsumerGroup("group"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
}

func subject(_ *kgo.Record, check *sluice.Check) { check.Subject = "worker" }

// seen collects what handlers got.
type seen struct {
	mutex  sync.Mutex
	values map[string][]string
	times  []time.Time
}

func (s *seen) add(record *kgo.Record) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.values == nil {
		s.values = map[string][]string{}
	}
	s.values[record.Topic] = append(s.values[record.Topic], string(record.Value))
	s.times = append(s.times, time.Now())
}

func (s *seen) of(topic string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.values[topic])
}

func consumer(t *testing.T, limits *sluice.Client, options sluicekafka.Options, kafka []kgo.Opt) *sluicekafka.Consumer {
	t.Helper()
	made, err := sluicekafka.New(limits, options, kafka...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Client().Close)
	return made
}

func run(t *testing.T, c *sluicekafka.Consumer, handle func(context.Context, *kgo.Record) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, handle) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestRecordsWaitInOrderAndOtherPartitionsGoOn(t *testing.T) {
	kafka := cluster(t, 6, "paced", "free")
	var got seen
	c := consumer(t, testagent.Start(t).Client(t), sluicekafka.Options{Check: subject}, kafka)
	stop := run(t, c, func(_ context.Context, record *kgo.Record) error { got.add(record); return nil })
	testagent.Until(t, "all records are handled", func() bool { return len(got.of("paced")) == 6 && len(got.of("free")) == 6 })
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(got.of("paced"), want) || !slices.Equal(got.of("free"), want) {
		t.Errorf("%v", got.values)
	}
	if took := got.times[len(got.times)-1].Sub(got.times[0]); took < time.Second { // 4 a second, after the first
		t.Errorf("six records in %s", took)
	}
}

func TestRecordsThatDoNotPassInTimeGoElsewhere(t *testing.T) {
	kafka := cluster(t, 4, "limited")
	var got, denied seen
	c := consumer(t, testagent.Start(t).Client(t), sluicekafka.Options{
		Check:  subject,
		Denied: func(_ context.Context, record *kgo.Record, d sluice.Decision) error { denied.add(record); return nil },
	}, kafka)
	stop := run(t, c, func(_ context.Context, record *kgo.Record) error { got.add(record); return nil })
	testagent.Until(t, "all records are dealt with", func() bool { return len(denied.of("limited")) == 2 })
	_ = stop()
	if !slices.Equal(got.of("limited"), []string{"0", "1"}) || !slices.Equal(denied.of("limited"), []string{"2", "3"}) {
		t.Errorf("%v %v", got.values, denied.values)
	}
	if err := c.Client().CommitMarkedOffsets(context.Background()); err != nil {
		t.Fatal(err)
	}
	offsets, err := kadm.NewClient(c.Client()).FetchOffsets(context.Background(), "group")
	if err != nil || offsets.Offsets()["limited"][0].At != 4 {
		t.Errorf("%v %v", err, offsets)
	}
}

func TestAFailedRecordIsNotCommittedAndItsLeaseIsReleased(t *testing.T) {
	kafka := cluster(t, 3, "jobs")
	limits := testagent.Start(t).Client(t)
	c := consumer(t, limits, sluicekafka.Options{Check: subject}, kafka)
	check := sluice.Check{Resource: "topic:jobs", Topic: "jobs", Subject: "worker"}
	failure := errors.New("the handler failed, as the test wanted")
	held := true
	err := c.Run(context.Background(), func(_ context.Context, record *kgo.Record) error {
		held = held && !testagent.Free(t, limits, check)
		if string(record.Value) == "1" {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) || !held || !testagent.Free(t, limits, check) {
		t.Errorf("%v, held %v", err, held)
	}
	if err := c.Client().CommitMarkedOffsets(context.Background()); err != nil {
		t.Fatal(err)
	}
	offsets, err := kadm.NewClient(c.Client()).FetchOffsets(context.Background(), "group")
	if err != nil || offsets.Offsets()["jobs"][0].At != 1 {
		t.Errorf("%v %v", err, offsets)
	}
}

func TestTheAgentIsKilledInEachErrorMode(t *testing.T) {
	for _, mode := range []sluice.OnError{sluice.Allow, sluice.Deny, sluice.Raise} {
		kafka := cluster(t, 3, "limited")
		agent := testagent.Start(t)
		limits := agent.Client(t, sluice.WithOnError(mode))
		agent.Kill()
		var got, denied seen
		c := consumer(t, limits, sluicekafka.Options{
			Check:  subject,
			Denied: func(_ context.Context, record *kgo.Record, d sluice.Decision) error { denied.add(record); return nil },
		}, kafka)
		stop := run(t, c, func(_ context.Context, record *kgo.Record) error { got.add(record); return nil })
		passed, other := &got, &denied
		if mode != sluice.Allow {
			passed, other = &denied, &got
		}
		testagent.Until(t, "all records are dealt with", func() bool { return len(passed.of("limited")) == 3 })
		_ = stop()
		if len(other.of("limited")) != 0 {
			t.Errorf("%s: %v", mode, other.values)
		}
	}
}

func TestAPartitionThatIsTakenAwayStopsWaitingAndNothingIsLost(t *testing.T) {
	brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "paced"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	seeds := kgo.SeedBrokers(brokers.ListenAddrs()...)
	producer, err := kgo.NewClient(seeds, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for i := range 12 {
		if err := producer.ProduceSync(context.Background(), &kgo.Record{Topic: "paced", Partition: int32(i % 4), Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	limits := testagent.Start(t).Client(t)
	kafka := []kgo.Opt{seeds, kgo.ConsumeTopics("paced"), kgo.ConsumerGroup("group"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(100 * time.Millisecond)}
	var got, second seen
	stop := run(t, consumer(t, limits, sluicekafka.Options{Check: subject}, kafka), func(_ context.Context, record *kgo.Record) error { got.add(record); return nil })
	testagent.Until(t, "the first consumer handles records", func() bool { return len(got.of("paced")) >= 1 })
	stopSecond := run(t, consumer(t, limits, sluicekafka.Options{Check: subject}, kafka), func(_ context.Context, record *kgo.Record) error {
		got.add(record)
		second.add(record)
		return nil
	})
	testagent.Until(t, "all records are handled", func() bool {
		values := got.of("paced")
		slices.Sort(values)
		return len(slices.Compact(values)) == 12
	})
	if len(second.of("paced")) == 0 {
		t.Error("the second consumer got nothing")
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := stopSecond(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
