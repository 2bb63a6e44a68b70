package sluicenats_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	sluicenats "sluice.dev/go/nats"
)

func connect(t *testing.T) *nats.Conn {
	t.Helper()
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	if !broker.ReadyForConnections(30 * time.Second) {
		t.Fatal("the broker does not start")
	}
	connection, err := nats.Connect(broker.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	return connection
}

// seen collects what handlers got.
type seen struct {
	mutex  sync.Mutex
	values []string
}

func (s *seen) add(value []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.values = append(s.values, string(value))
}

func (s *seen) all() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.values)
}

func subject(_ *nats.Msg, check *sluice.Check) { check.Subject = "worker" }

func publish(t *testing.T, connection *nats.Conn, topic string, messages int) {
	t.Helper()
	for i := range messages {
		if err := connection.Publish(topic, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := connection.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesWaitInOrder(t *testing.T) {
	connection := connect(t)
	var got seen
	begun := time.Now()
	if _, err := connection.QueueSubscribe("paced", "group", sluicenats.Handler(testagent.Start(t).Client(t), func(m *nats.Msg) { got.add(m.Data) },
		sluicenats.Options{Check: subject})); err != nil {
		t.Fatal(err)
	}
	publish(t, connection, "paced", 5)
	testagent.Until(t, "all messages are handled", func() bool { return len(got.all()) == 5 })
	if took := time.Since(begun); took < 900*time.Millisecond || !slices.Equal(got.all(), []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("%v in %s", got.all(), took)
	}
}

func TestMessagesThatDoNotPassInTime(t *testing.T) {
	connection := connect(t)
	agent := testagent.Start(t)
	for mode, passed := range map[sluice.OnError]int{sluice.Allow: 4, sluice.Deny: 0, sluice.Raise: 0, "alive": 2} {
		limits := agent.Client(t)
		if mode != "alive" {
			gone := testagent.Start(t)
			limits = gone.Client(t, sluice.WithOnError(mode))
			gone.Kill()
		}
		var got, denied seen
		subscription, err := connection.Subscribe("limited", sluicenats.Handler(limits, func(m *nats.Msg) { got.add(m.Data) },
			sluicenats.Options{Check: subject, Denied: func(m *nats.Msg, _ sluice.Decision) { denied.add(m.Data) }}))
		if err != nil {
			t.Fatal(err)
		}
		publish(t, connection, "limited", 4)
		testagent.Until(t, "all messages are dealt with", func() bool { return len(got.all())+len(denied.all()) == 4 })
		if len(got.all()) != passed {
			t.Errorf("%s: %v %v", mode, got.all(), denied.all())
		}
		if err := subscription.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJetStreamSendsAgainWhatDidNotPass(t *testing.T) {
	connection := connect(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	streams, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := streams.CreateStream(ctx, jetstream.StreamConfig{Name: "paced", Subjects: []string{"orders.*"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if _, err := streams.Publish(ctx, "orders.new", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "group", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	limits := testagent.Start(t).Client(t)
	var got, denied seen
	consuming, err := consumer.Consume(sluicenats.JetStream(limits, func(m jetstream.Msg) {
		got.add(m.Data())
		if err := m.Ack(); err != nil {
			t.Error(err)
		}
	}, sluicenats.JetStreamOptions{
		Check: func(_ jetstream.Msg, check *sluice.Check) { check.Subject = "worker" },
		Denied: func(m jetstream.Msg, _ sluice.Decision, err error) {
			if denied.add(m.Data()); err != nil {
				t.Error(err)
			}
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer consuming.Stop()
	testagent.Until(t, "all messages are handled", func() bool { return len(got.all()) == 4 })
	values := got.all()
	slices.Sort(values)
	if !slices.Equal(values, []string{"0", "1", "2", "3"}) || len(denied.all()) == 0 {
		t.Errorf("%v %v", values, denied.all())
	}
}

func TestTheLeaseOfAMessageEndsWithItsHandler(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	check := sluice.Check{Resource: "topic:jobs", Topic: "jobs", Subject: "worker"}
	held := false
	handler := sluicenats.Handler(limits, func(*nats.Msg) {
		held = !testagent.Free(t, limits, check)
		panic("the handler failed, as the test wanted")
	}, sluicenats.Options{Check: subject})
	func() {
		defer func() { _ = recover() }()
		handler(&nats.Msg{Subject: "jobs"})
	}()
	if !held || !testagent.Free(t, limits, check) {
		t.Errorf("held %v", held)
	}
}
