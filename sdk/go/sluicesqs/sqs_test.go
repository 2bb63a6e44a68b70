package sluicesqs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	"sluice.dev/go/sluicesqs"
)

// queue is one in memory that does what SQS promises. Hidden messages are visible again at once if the test says so.
type queue struct {
	mutex   sync.Mutex
	visible []sluicesqs.Message
	hidden  map[string]time.Duration
	deleted []string
}

func filled(messages int) *queue {
	q := &queue{hidden: map[string]time.Duration{}}
	for i := range messages {
		q.visible = append(q.visible, sluicesqs.Message{ID: fmt.Sprint(i), ReceiptHandle: fmt.Sprint("r", i), Body: fmt.Sprint(i)})
	}
	return q
}

func (q *queue) Receive(ctx context.Context, max int) ([]sluicesqs.Message, error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.visible) == 0 {
		return nil, errDone
	}
	received := q.visible[:min(max, len(q.visible))]
	q.visible = q.visible[len(received):]
	return received, ctx.Err()
}

func (q *queue) Delete(ctx context.Context, handle string) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	q.deleted = append(q.deleted, handle)
	return nil
}

func (q *queue) ChangeVisibility(_ context.Context, handle string, timeout time.Duration) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.hidden[handle] = timeout
	return nil
}

var errDone = errors.New("the queue is empty")

func TestMessagesThatDoNotPassAreHiddenUntilTheyWould(t *testing.T) {
	agent := testagent.Start(t)
	killed := testagent.Start(t)
	clients := map[string]*sluice.Client{"alive": agent.Client(t)}
	for _, mode := range []sluice.OnError{sluice.Allow, sluice.Deny, sluice.Raise} {
		clients[string(mode)] = killed.Client(t, sluice.WithOnError(mode))
	}
	killed.Kill()
	for name, want := range map[string]int{"alive": 2, "allow": 5, "deny": 0, "raise": 0} {
		q := filled(5)
		var handled []string
		err := sluicesqs.Run(context.Background(), clients[name], q, func(_ context.Context, m sluicesqs.Message) error {
			handled = append(handled, m.Body)
			return nil
		}, sluicesqs.Options{Topic: "limited", Concurrency: 1, Check: func(_ sluicesqs.Message, check *sluice.Check) { check.Subject = "worker" }})
		if !errors.Is(err, errDone) || len(handled) != want || len(q.deleted) != want || len(q.hidden) != 5-want {
			t.Errorf("%s: %v, handled %v, deleted %v, hidden %v", name, err, handled, q.deleted, q.hidden)
		}
		for _, timeout := range q.hidden {
			if timeout < time.Second || timeout > time.Hour+time.Second || timeout%time.Second != 0 {
				t.Errorf("%s: %v", name, q.hidden)
			}
		}
	}
}

func TestAFailedMessageIsNotDeletedAndItsLeaseIsReleased(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	q := filled(2)
	var failed []string
	held := true
	check := sluice.Check{Resource: "topic:jobs", Topic: "jobs", Subject: "worker"}
	_ = sluicesqs.Run(context.Background(), limits, q, func(_ context.Context, m sluicesqs.Message) error {
		held = held && !testagent.Free(t, limits, check)
		if m.ID == "0" {
			return errors.New("the handler failed, as the test wanted")
		}
		return nil
	}, sluicesqs.Options{
		Topic: "jobs", Concurrency: 1, Check: func(_ sluicesqs.Message, check *sluice.Check) { check.Subject = "worker" },
		Failed: func(m sluicesqs.Message, _ error) { failed = append(failed, m.ID) },
	})
	if len(failed) != 1 || len(q.deleted) != 1 || q.deleted[0] != "r1" || !held || !testagent.Free(t, limits, check) {
		t.Errorf("failed %v, deleted %v, held %v", failed, q.deleted, held)
	}
}

func TestAMessageThatWasHandledDoesNotComeAgainWhenTheProgramEnds(t *testing.T) {
	limits := testagent.Start(t).Client(t)
	ctx, end := context.WithCancel(context.Background())
	q := filled(2)
	err := sluicesqs.Run(ctx, limits, q, func(context.Context, sluicesqs.Message) error {
		end()
		return nil
	}, sluicesqs.Options{Topic: "free", Concurrency: 1, Failed: func(m sluicesqs.Message, err error) { t.Errorf("%s: %v", m.ID, err) }})
	if !errors.Is(err, context.Canceled) || len(q.deleted) != 1 || q.deleted[0] != "r0" {
		t.Errorf("%v, deleted %v", err, q.deleted)
	}
}
