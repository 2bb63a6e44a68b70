// Package sluicenats handles NATS' messages as fast as limits allow.
//
// [Handler] is for core NATS: a message waits, and the subscription with it. [JetStream] is for JetStream: a message that does not pass is
// sent again by the server when it would.
package sluicenats

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice.dev/go"
	"sluice.dev/go/internal/consume"
)

// Options of [Handler].
type Options struct {
	// Check adds to the check of a message, or changes it. It has the resource topic:SUBSCRIPTION, the topic, which is the subject that was
	// subscribed to, and the queue group. Policies of most tenants need a subject.
	Check func(*nats.Msg, *sluice.Check)
	// Context ends the waiting of messages. Nil: nothing does.
	Context context.Context
	// Wait is how long a message may wait before Denied gets it. Without Denied a message waits until it passes.
	Wait time.Duration
	// Denied gets the messages that do not pass in time.
	Denied func(*nats.Msg, sluice.Decision)
}

// Handler hands each message on when its check passes. NATS calls the handler of a subscription for one message at a time, so while one
// waits, the others wait in the subscription, whose limits for pending messages hold. The lease of a message lasts until next returns.
func Handler(limits *sluice.Client, next nats.MsgHandler, options Options) nats.MsgHandler {
	ctx := options.Context
	if ctx == nil {
		ctx = context.Background()
	}
	patience := consume.Forever
	if options.Denied != nil {
		patience = options.Wait
	}
	return func(message *nats.Msg) {
		topic, queue := message.Subject, ""
		if message.Sub != nil {
			topic, queue = message.Sub.Subject, message.Sub.Queue
		}
		check := sluice.Check{Resource: "topic:" + topic, Topic: topic, ConsumerGroup: queue}
		if options.Check != nil {
			options.Check(message, &check)
		}
		lease, decision, err := consume.Admit(ctx, limits, check, patience)
		if err != nil {
			return // ctx is done, or the client is closed
		}
		if lease == nil {
			options.Denied(message, decision)
			return
		}
		defer lease.End(ctx)
		next(message)
	}
}

// JetStreamOptions of [JetStream].
type JetStreamOptions struct {
	// Check adds to the check of a message, or changes it. It has the resource topic:STREAM, the topic, which is the stream, and as the
	// consumer group the consumer. Policies of most tenants need a subject.
	Check func(jetstream.Msg, *sluice.Check)
	// Context ends checks. Nil: nothing does.
	Context context.Context
	// Denied hears of the messages that did not pass, and of errors in giving them back.
	Denied func(jetstream.Msg, sluice.Decision, error)
}

// JetStream hands on the messages whose checks pass. The others are given back with NakWithDelay, so the server sends them again when they
// would pass: their order is not kept, and each time counts as a delivery (MaxDeliver). The lease of a message lasts until next returns.
func JetStream(limits *sluice.Client, next jetstream.MessageHandler, options JetStreamOptions) jetstream.MessageHandler {
	ctx := options.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return func(message jetstream.Msg) {
		check := sluice.Check{}
		if from, err := message.Metadata(); err == nil {
			check = sluice.Check{Resource: "topic:" + from.Stream, Topic: from.Stream, ConsumerGroup: from.Consumer}
		}
		if options.Check != nil {
			options.Check(message, &check)
		}
		decision, err := limits.Check(ctx, check)
		var failed *sluice.Error
		if err != nil && !errors.As(err, &failed) {
			return // ctx is done, or the client is closed: the server sends the message again
		}
		lease := limits.Hold(ctx, decision, sluice.KeepAlive())
		defer lease.End(ctx)
		if decision.Allowed && decision.Delay > 0 && consume.Sleep(ctx, decision.Delay) != nil {
			return
		}
		if decision.Allowed {
			next(message)
			return
		}
		err = message.NakWithDelay(consume.Pause(decision))
		if options.Denied != nil {
			options.Denied(message, decision, err)
		}
	}
}
