// Package sluicesqs handles the messages of queues like Amazon SQS as fast as limits allow. It needs no SDK: [Queue] is what it asks of one.
package sluicesqs

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/consume"
)

// longestVisibility is the most that SQS takes.
const longestVisibility = 12 * time.Hour

// Message is one received message.
type Message struct {
	ID            string
	ReceiptHandle string
	Body          string
	Attributes    map[string]string
}

// Queue is a queue that hides a received message for some time, and delivers it again unless it is deleted.
type Queue interface {
	// Receive waits for messages and gives up to max of them. An empty list is no error.
	Receive(ctx context.Context, max int) ([]Message, error)
	// Delete removes a message that was handled.
	Delete(ctx context.Context, receiptHandle string) error
	// ChangeVisibility hides a message for that time from now on, in whole seconds.
	ChangeVisibility(ctx context.Context, receiptHandle string, timeout time.Duration) error
}

// Options of [Run].
type Options struct {
	// Topic is the name of the queue. The check of a message has it as the topic, and the resource topic:TOPIC.
	Topic string
	// Check adds to the check of a message, or changes it. Policies of most tenants need a subject.
	Check func(Message, *sluice.Check)
	// Concurrency is how many messages are handled at once, and received at most: 1 to 10. Default: 10.
	Concurrency int
	// Failed hears of messages whose handler failed, and of those that could not be deleted or hidden. They are delivered again.
	Failed func(Message, error)
}

// Run handles messages until ctx is done or receiving fails. A message whose check passes is handled, and deleted unless its handler fails.
// One that does not pass is hidden until it would. The lease of a message lasts until its handler has returned.
func Run(ctx context.Context, limits *sluice.Client, queue Queue, handle func(context.Context, Message) error, options Options) error {
	if options.Concurrency == 0 {
		options.Concurrency = 10
	}
	for ctx.Err() == nil {
		messages, err := queue.Receive(ctx, options.Concurrency)
		if err != nil {
			return err
		}
		var group sync.WaitGroup
		for _, message := range messages {
			group.Add(1)
			go func() {
				defer group.Done()
				if err := one(ctx, limits, queue, handle, &options, message); err != nil && options.Failed != nil {
					options.Failed(message, err)
				}
			}()
		}
		group.Wait()
	}
	return ctx.Err()
}

func one(ctx context.Context, limits *sluice.Client, queue Queue, handle func(context.Context, Message) error, options *Options, message Message) error {
	check := sluice.Check{Resource: "topic:" + options.Topic, Topic: options.Topic}
	if options.Check != nil {
		options.Check(message, &check)
	}
	decision, err := limits.Check(ctx, check)
	var failed *sluice.Error
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	lease := limits.Hold(ctx, decision, sluice.KeepAlive())
	defer lease.End(ctx)
	if !decision.Allowed {
		seconds := (consume.Pause(decision) + time.Second - 1).Truncate(time.Second)
		return queue.ChangeVisibility(ctx, message.ReceiptHandle, min(seconds, longestVisibility))
	}
	if decision.Delay > 0 {
		if err := consume.Sleep(ctx, decision.Delay); err != nil {
			return err
		}
	}
	if err := handle(ctx, message); err != nil {
		return err
	}
	// Also if ctx is done: the message was handled, and must not come again.
	return queue.Delete(context.WithoutCancel(ctx), message.ReceiptHandle)
}
