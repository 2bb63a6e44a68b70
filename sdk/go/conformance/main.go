// Command conformance lets the suite tests/sdk drive this package: it reads one JSON object a line and writes one a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicetest"
)

type question struct {
	ID          int64           `json:"id"`
	Op          string          `json:"op"`
	Client      string          `json:"client"`
	Options     options         `json:"options"`
	Check       json.RawMessage `json:"check"`
	Checks      json.RawMessage `json:"checks"`
	TraceParent string          `json:"traceparent"`
	TraceState  string          `json:"tracestate"`
	UpToMS      float64         `json:"up_to_ms"`
	Lease       string          `json:"lease"`
	KeepAlive   bool            `json:"keep_alive"`
	How         string          `json:"how"`
	LeaseID     string          `json:"lease_id"`
	Of          int64           `json:"of"`
	Kind        string          `json:"kind"`
	Script      []json.RawMessage
}

type options struct {
	URL               *string  `json:"url"`
	Socket            *string  `json:"socket"`
	APIKey            *string  `json:"api_key"`
	APIKeyFile        *string  `json:"api_key_file"`
	TimeoutMS         *float64 `json:"timeout_ms"`
	OnError           *string  `json:"on_error"`
	MaxConnections    *int     `json:"max_connections"`
	CAFile            *string  `json:"ca_file"`
	ClientCertificate *string  `json:"client_certificate"`
	ClientKey         *string  `json:"client_key"`
}

func (o options) list() []sluice.Option {
	var list []sluice.Option
	for _, text := range []struct {
		value  *string
		option func(string) sluice.Option
	}{{o.URL, sluice.WithURL}, {o.Socket, sluice.WithSocket}, {o.APIKey, sluice.WithAPIKey}, {o.APIKeyFile, sluice.WithAPIKeyFile}, {o.CAFile, sluice.WithCAFile}} {
		if text.value != nil {
			list = append(list, text.option(*text.value))
		}
	}
	if o.TimeoutMS != nil {
		list = append(list, sluice.WithTimeout(span(*o.TimeoutMS)))
	}
	if o.OnError != nil {
		list = append(list, sluice.WithOnError(sluice.OnError(*o.OnError)))
	}
	if o.MaxConnections != nil {
		list = append(list, sluice.WithMaxConnections(*o.MaxConnections))
	}
	if o.ClientCertificate != nil || o.ClientKey != nil {
		list = append(list, sluice.WithClientCertificate(orEmpty(o.ClientCertificate), orEmpty(o.ClientKey)))
	}
	return list
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func span(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// adapter holds what the suite has made.
type adapter struct {
	out     *json.Encoder
	mutex   sync.Mutex // of everything below, and of out
	clients map[string]*sluice.Client
	doubles map[string]*sluicetest.Double
	leases  map[string]*block
	running map[int64]context.CancelFunc
}

// block is a function that holds a lease until it is told how to return.
type block struct {
	how   chan string
	ended chan bool // whether the lease was lost
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	a := &adapter{
		out: json.NewEncoder(os.Stdout), clients: map[string]*sluice.Client{}, doubles: map[string]*sluicetest.Double{},
		leases: map[string]*block{}, running: map[int64]context.CancelFunc{},
	}
	a.write(map[string]any{"ready": true, "sdk": "go", "version": sluice.Version})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			a.write(map[string]any{"id": asked.ID, "raised": map[string]any{"kind": "misuse", "status": 0, "code": "", "message": err.Error()}})
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		a.mutex.Lock()
		a.running[asked.ID] = cancel
		a.mutex.Unlock()
		switch asked.Op {
		case "check", "check_batch", "wait", "lease", "end_lease", "release", "renew", "recorded":
			go a.run(ctx, asked)
		default: // quick, and what follows relies on it
			a.run(ctx, asked)
		}
	}
}

func (a *adapter) write(members map[string]any) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err := a.out.Encode(members); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (a *adapter) run(ctx context.Context, asked question) {
	begun := time.Now()
	members, err := a.answer(ctx, asked)
	a.mutex.Lock()
	if asked.Op != "lease" {
		if cancel := a.running[asked.ID]; cancel != nil {
			cancel()
		}
	}
	delete(a.running, asked.ID)
	a.mutex.Unlock()
	switch {
	case errors.Is(err, context.Canceled):
		members = map[string]any{"cancelled": true}
	case err != nil:
		members = map[string]any{"raised": raised(err)}
	}
	members["id"] = asked.ID
	members["elapsed_ms"] = float64(time.Since(begun)) / float64(time.Millisecond)
	a.write(members)
}

func raised(err error) map[string]any {
	var failed *sluice.Error
	if errors.As(err, &failed) {
		members := errorMembers(failed)
		members["message"] = failed.Error()
		return members
	}
	return map[string]any{"kind": "misuse", "status": 0, "code": "", "message": err.Error()}
}

func (a *adapter) client(name string) (*sluice.Client, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if client := a.clients[name]; client != nil {
		return client, nil
	}
	return nil, fmt.Errorf("no client %q", name)
}

func (a *adapter) answer(ctx context.Context, asked question) (map[string]any, error) {
	if asked.TraceParent != "" {
		ctx = sluice.ContextWithTrace(ctx, asked.TraceParent, asked.TraceState)
	}
	ok := map[string]any{"ok": true}
	switch asked.Op {
	case "new":
		client, err := sluice.New(asked.Options.list()...)
		if err == nil {
			a.mutex.Lock()
			a.clients[asked.Client] = client
			a.mutex.Unlock()
		}
		return ok, err
	case "double":
		return ok, a.double(asked)
	case "cancel":
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if cancel := a.running[asked.Of]; cancel != nil {
			cancel()
		}
		return ok, nil
	case "end_lease":
		a.mutex.Lock()
		held := a.leases[asked.Lease]
		delete(a.leases, asked.Lease)
		a.mutex.Unlock()
		if held == nil {
			return nil, fmt.Errorf("no lease %q", asked.Lease)
		}
		held.how <- asked.How
		ok["lost"] = <-held.ended
		return ok, nil
	case "recorded":
		a.mutex.Lock()
		double := a.doubles[asked.Client]
		a.mutex.Unlock()
		if double == nil {
			return nil, fmt.Errorf("no double %q", asked.Client)
		}
		open := double.OpenLeases()
		if open == nil {
			open = []string{}
		}
		checks := double.Checks()
		if checks == nil {
			checks = []sluice.Check{}
		}
		return map[string]any{"checks": checks, "open_leases": open}, nil
	}
	client, err := a.client(asked.Client)
	if err != nil {
		return nil, err
	}
	switch asked.Op {
	case "describe":
		return map[string]any{"text": fmt.Sprintf("%v %+v %#v", client, client, client)}, nil
	case "close":
		return ok, client.Close()
	case "release":
		released, err := client.Release(ctx, asked.LeaseID)
		return map[string]any{"released": released}, err
	case "renew":
		end, err := client.Renew(ctx, asked.LeaseID)
		return map[string]any{"lease_expires_at": seconds(end)}, err
	case "check_batch":
		var checks []sluice.Check
		if err := json.Unmarshal(asked.Checks, &checks); err != nil {
			return nil, err
		}
		decisions, err := client.CheckBatch(ctx, checks)
		written := []any{}
		for _, decision := range decisions {
			written = append(written, decisionMembers(decision))
		}
		return map[string]any{"decisions": written}, err
	}
	var check sluice.Check
	if err := json.Unmarshal(asked.Check, &check); err != nil {
		return nil, err
	}
	switch asked.Op {
	case "check":
		decision, err := client.Check(ctx, check)
		return map[string]any{"decision": decisionMembers(decision)}, err
	case "wait":
		decision, err := client.Wait(ctx, check, span(asked.UpToMS))
		return map[string]any{"decision": decisionMembers(decision)}, err
	case "lease":
		decision, err := a.open(ctx, client, check, asked)
		return map[string]any{"decision": decisionMembers(decision)}, err
	}
	return nil, fmt.Errorf("unknown op %q", asked.Op)
}

// open runs a function that holds the lease, and returns when it holds it.
func (a *adapter) open(ctx context.Context, client *sluice.Client, check sluice.Check, asked question) (sluice.Decision, error) {
	held := &block{how: make(chan string), ended: make(chan bool, 1)}
	var keep []sluice.LeaseOption
	if asked.KeepAlive {
		keep = append(keep, sluice.KeepAlive())
	}
	ctx, cancel := context.WithCancel(ctx)
	lease, err := client.Lease(ctx, check, keep...)
	if err != nil {
		cancel()
		return sluice.Decision{}, err
	}
	a.mutex.Lock()
	a.leases[asked.Lease] = held
	a.mutex.Unlock()
	go func() {
		defer func() {
			_ = recover()
			held.ended <- lease.Lost()
		}()
		defer cancel()
		defer lease.End(ctx)
		switch <-held.how {
		case "fail":
			panic("the suite wants it")
		case "cancel":
			cancel()
		}
	}()
	return lease.Decision, nil
}

func (a *adapter) double(asked question) error {
	var made *sluicetest.Double
	options := asked.Options.list()
	switch asked.Kind {
	case "always_allow":
		made = sluicetest.AlwaysAllow(options...)
	case "always_deny":
		made = sluicetest.AlwaysDeny(options...)
	case "scripted":
		var script []sluicetest.Answer
		for _, entry := range asked.Script {
			var failed struct {
				Error sluice.Kind `json:"error"`
			}
			if err := json.Unmarshal(entry, &failed); err != nil {
				return err
			}
			if failed.Error != "" {
				script = append(script, sluicetest.Fail(failed.Error))
			} else {
				script = append(script, sluicetest.JSON(onTheWire(entry)))
			}
		}
		made = sluicetest.Scripted(script, options...)
	default:
		return fmt.Errorf("unknown kind of double %q", asked.Kind)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.doubles[asked.Client], a.clients[asked.Client] = made, made.Client
	return nil
}
