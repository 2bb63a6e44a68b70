package sluice

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logPause is the time between two lines about the same kind of error.
const logPause = 10 * time.Second

// errorLog writes a line when a kind of error begins, and then one every 10 s at most.
type errorLog struct {
	set   *settings
	now   func() time.Time
	mutex sync.Mutex
	seen  map[Kind]*seen
}

type seen struct {
	logged time.Time
	since  int // errors since the line
}

func newErrorLog(set *settings) *errorLog {
	return &errorLog{set: set, now: time.Now, seen: map[Kind]*seen{}}
}

func (l *errorLog) report(err *Error) {
	count := l.count(err.Kind)
	if count == 0 {
		return
	}
	logger := l.set.logger
	if logger == nil {
		logger = slog.Default()
	}
	gives := "checks are allowed"
	switch l.set.onError {
	case Deny:
		gives = "checks are denied"
	case Raise:
		gives = "calls return an error"
	}
	logger.LogAttrs(context.Background(), slog.LevelWarn, "the rate limit agent gave no decision; "+gives,
		slog.String("agent", l.set.address.text), slog.String("kind", string(err.Kind)), slog.Int("errors", count), slog.String("detail", err.Error()))
}

// count gives how many errors the next line is about; 0: no line now.
func (l *errorLog) count(kind Kind) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	before, now := l.seen[kind], l.now()
	if before == nil {
		before = &seen{}
		l.seen[kind] = before
	}
	before.since++
	if !before.logged.IsZero() && now.Sub(before.logged) < logPause {
		return 0
	}
	count := before.since
	before.logged, before.since = now, 0
	return count
}
