// Package sluicekafka consumes Kafka's topics as fast as limits allow, with franz-go.
//
//	consumer, err := sluicekafka.New(client, sluicekafka.Options{}, kgo.SeedBrokers("kafka:9092"), kgo.ConsumerGroup("billing"),
//		kgo.ConsumeTopics("orders"))
//	...
//	err = consumer.Run(ctx, func(ctx context.Context, record *kgo.Record) error { ... })
package sluicekafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice.dev/go"
	"sluice.dev/go/internal/consume"
)

// Options of a consumer.
type Options struct {
	// Check adds to the check of a record, or changes it. It has the resource topic:TOPIC, the topic and the consumer group. Policies of
	// most tenants need a subject, such as the record's key.
	Check func(*kgo.Record, *sluice.Check)
	// Wait is how long a record may wait before Denied gets it. Without Denied a record waits until it passes.
	Wait time.Duration
	// Denied gets the records that do not pass in time: to put them elsewhere, for example. Nil when it took the record.
	Denied func(context.Context, *kgo.Record, sluice.Decision) error
}

// Consumer reads records and hands each on when its check passes. The records of a partition keep their order. A partition whose record
// waits is paused; the others go on, and the consumer stays in its group.
type Consumer struct {
	client  *kgo.Client
	limits  *sluice.Client
	options Options

	mutex   sync.Mutex
	workers map[partition]*worker
}

type partition struct {
	topic  string
	number int32
}

// worker handles the records of one partition that one poll gave.
type worker struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New makes a consumer and its client of Kafka, which needs a kgo.ConsumerGroup: it commits what has been handled. AutoCommitMarks,
// OnPartitionsRevoked and OnPartitionsLost are its own, other options are yours. Close it with Client().Close().
func New(limits *sluice.Client, options Options, kafka ...kgo.Opt) (*Consumer, error) {
	c := &Consumer{limits: limits, options: options, workers: map[partition]*worker{}}
	gone := func(ctx context.Context, client *kgo.Client, partitions map[string][]int32, commit bool) {
		c.stop(partitions)
		if commit {
			_ = client.CommitMarkedOffsets(ctx) // if it fails, the records come again
		}
	}
	client, err := kgo.NewClient(append(kafka, kgo.AutoCommitMarks(),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, lost map[string][]int32) { gone(ctx, client, lost, true) }),
		kgo.OnPartitionsLost(func(ctx context.Context, client *kgo.Client, lost map[string][]int32) { gone(ctx, client, lost, false) }))...)
	c.client = client
	return c, err
}

// Client is the client of Kafka.
func (c *Consumer) Client() *kgo.Client { return c.client }

// Run handles records until ctx is done, a handler fails or the client is closed (then the error is nil). A record whose handler failed, and
// those after it, are not committed. The lease of a record lasts until its handler has returned.
func (c *Consumer) Run(ctx context.Context, handle func(context.Context, *kgo.Record) error) error {
	running, cancel := context.WithCancelCause(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(nil)
	for {
		fetches := c.client.PollFetches(running)
		if fetches.IsClientClosed() {
			return nil
		}
		if running.Err() != nil {
			return context.Cause(running)
		}
		for _, failed := range fetches.Errors() {
			return failed.Err
		}
		fetches.EachPartition(func(records kgo.FetchTopicPartition) {
			if len(records.Records) == 0 {
				return
			}
			where := partition{records.Topic, records.Partition}
			one, stop := context.WithCancel(running)
			current := &worker{stop, make(chan struct{})}
			c.mutex.Lock()
			c.workers[where] = current
			c.mutex.Unlock()
			c.client.PauseFetchPartitions(map[string][]int32{where.topic: {where.number}})
			group.Add(1)
			go func() {
				defer group.Done()
				defer c.finish(where, current)
				if err := c.handle(one, records.Records, handle); err != nil && one.Err() == nil {
					cancel(err)
				}
			}()
		})
	}
}

func (c *Consumer) finish(where partition, current *worker) {
	c.mutex.Lock()
	if c.workers[where] == current {
		delete(c.workers, where)
	}
	c.mutex.Unlock()
	c.client.ResumeFetchPartitions(map[string][]int32{where.topic: {where.number}})
	current.cancel()
	close(current.done)
}

// stop ends the workers of partitions that are taken away.
func (c *Consumer) stop(partitions map[string][]int32) {
	var stopped []*worker
	c.mutex.Lock()
	for topic, numbers := range partitions {
		for _, number := range numbers {
			if current := c.workers[partition{topic, number}]; current != nil {
				current.cancel()
				stopped = append(stopped, current)
			}
		}
	}
	c.mutex.Unlock()
	for _, current := range stopped {
		<-current.done
	}
}

func (c *Consumer) handle(ctx context.Context, records []*kgo.Record, handle func(context.Context, *kgo.Record) error) error {
	group, _ := c.client.GroupMetadata()
	for _, record := range records {
		check := sluice.Check{Resource: "topic:" + record.Topic, Topic: record.Topic, ConsumerGroup: group}
		if c.options.Check != nil {
			c.options.Check(record, &check)
		}
		patience := consume.Forever
		if c.options.Denied != nil {
			patience = c.options.Wait
		}
		lease, decision, err := consume.Admit(ctx, c.limits, check, patience)
		switch {
		case err != nil:
			return err
		case lease == nil:
			err = c.options.Denied(ctx, record, decision)
		default:
			err = handled(ctx, lease, record, handle)
		}
		if err != nil {
			return err
		}
		c.client.MarkCommitRecords(record)
	}
	return nil
}

func handled(ctx context.Context, lease *sluice.Lease, record *kgo.Record, handle func(context.Context, *kgo.Record) error) error {
	defer lease.End(ctx)
	return handle(ctx, record)
}
