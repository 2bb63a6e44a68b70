// Package testagent starts a real agent for a test.
package testagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sluice.dev/go"
)

// Agent is a running sluice-agent with counters in memory.
type Agent struct {
	URL, Socket, Key string
	Admin            string

	flags   []string
	program *exec.Cmd
	log     string
	test    testing.TB
}

// policies are what tests of all packages ask about. Every limit is counted for each subject.
const policies = `{"format":"sluice/v1","organizations":[{"id":"o","name":"O"}],"tenants":[{"id":"t","name":"T","organization_id":"o"}],
"plans":[
 {"tenant_id":"t","id":"two","key_by":["subject"],"limits":[{"name":"two","algorithm":"fixed_window","limit":2,"window":"1h"}]},
 {"tenant_id":"t","id":"ten","key_by":["subject"],"limits":[{"name":"ten","algorithm":"fixed_window","limit":10,"window":"1h"}]},
 {"tenant_id":"t","id":"soon","key_by":["subject"],"limits":[{"name":"soon","algorithm":"token_bucket","capacity":1,"refill":"4/s"}]},
 {"tenant_id":"t","id":"delayed","key_by":["subject"],"action":"delay","max_delay":"5s",
  "limits":[{"name":"delayed","algorithm":"token_bucket","capacity":1,"refill":"4/s"}]},
 {"tenant_id":"t","id":"slow","key_by":["subject"],"action":"delay","max_delay":"50s",
  "limits":[{"name":"slow","algorithm":"token_bucket","capacity":1,"refill_per_sec":0.1}]},
 {"tenant_id":"t","id":"lots","key_by":["subject"],"limits":[{"name":"lots","algorithm":"fixed_window","limit":1000000000,"window":"1h"}]},
 {"tenant_id":"t","id":"smaller","key_by":["subject"],"action":"downgrade","downgrade_to":"small",
  "limits":[{"name":"one","algorithm":"fixed_window","limit":1,"window":"1h"}]},
 {"tenant_id":"t","id":"some","key_by":["subject"],"action":"sample","sample_rate":0.5,
  "limits":[{"name":"one","algorithm":"fixed_window","limit":1,"window":"1h"}]},
 {"tenant_id":"t","id":"brief","key_by":["subject"],"limits":[{"name":"brief","algorithm":"concurrency","limit":1,"lease_ttl":"2s"}]},
 {"tenant_id":"t","id":"one","key_by":["subject"],"limits":[{"name":"one","algorithm":"concurrency","limit":1,"lease_ttl":"30s"}]}],
"policies":[
 {"tenant_id":"t","id":"users","scope":{"endpoint":"/users/{id}"},"plan_id":"two"},
 {"tenant_id":"t","id":"files","scope":{"endpoint":"/files/{path}"},"plan_id":"two"},
 {"tenant_id":"t","id":"unmatched","scope":{"endpoint":"{unmatched}"},"plan_id":"two"},
 {"tenant_id":"t","id":"upload","scope":{"endpoint":"/upload"},"plan_id":"ten"},
 {"tenant_id":"t","id":"free","scope":{"endpoint":"/free"},"plan_id":"two"},
 {"tenant_id":"t","id":"shadow","scope":{"endpoint":"/shadow"},"plan_id":"two","mode":"shadow"},
 {"tenant_id":"t","id":"delayed","scope":{"endpoint":"/delayed"},"plan_id":"delayed","action":"delay","max_delay":"5s"},
 {"tenant_id":"t","id":"slow","scope":{"endpoint":"/slow"},"plan_id":"slow","action":"delay","max_delay":"50s"},
 {"tenant_id":"t","id":"smaller","scope":{"endpoint":"/smaller"},"plan_id":"smaller","action":"downgrade","downgrade_to":"small"},
 {"tenant_id":"t","id":"job","scope":{"endpoint":"/job"},"plan_id":"one"},
 {"tenant_id":"t","id":"grpc","scope":{"endpoint":"/grpc.health.v1.Health/Check"},"plan_id":"two"},
 {"tenant_id":"t","id":"stream","scope":{"endpoint":"/grpc.health.v1.Health/Watch"},"plan_id":"one"},
 {"tenant_id":"t","id":"topic","scope":{"topic":"limited"},"plan_id":"two"},
 {"tenant_id":"t","id":"slow-topic","scope":{"topic":"paced"},"plan_id":"soon"},
 {"tenant_id":"t","id":"busy-topic","scope":{"topic":"jobs"},"plan_id":"one"},
 {"tenant_id":"t","id":"logs","scope":{"signal":"log"},"plan_id":"ten"},
 {"tenant_id":"t","id":"spans","scope":{"signal":"span"},"plan_id":"ten"},
 {"tenant_id":"t","id":"some-logs","scope":{"signal":"log","subject":"sampled"},"plan_id":"some","action":"sample","sample_rate":0.5},
 {"tenant_id":"t","id":"some-spans","scope":{"signal":"span","subject":"sampled"},"plan_id":"some","action":"sample","sample_rate":0.5}],
"keys":[%s]}`

// Start starts an agent, which ends with the test. The program is that of TEST_AGENT, or the newest build of this repository.
func Start(t testing.TB, flags ...string) *Agent {
	t.Helper()
	program := find(t)
	folder, err := os.MkdirTemp("", "agent-") // a short path: sockets have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	minted, err := exec.Command(program, "mint-key", "--tenant", "t", "--id", "test").Output()
	if err != nil {
		t.Fatalf("%s mint-key: %v", program, err)
	}
	var key struct {
		Key   string
		Entry json.RawMessage `json:"bundle_entry"`
	}
	if err := json.Unmarshal(minted, &key); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(folder, "bundle.json")
	if err := os.WriteFile(bundle, fmt.Appendf(nil, policies, key.Entry), 0o600); err != nil {
		t.Fatal(err)
	}
	port, admin := freePort(t), freePort(t)
	agent := &Agent{
		URL: "http://127.0.0.1:" + port, Socket: filepath.Join(folder, "agent.sock"), Key: key.Key, Admin: "http://127.0.0.1:" + admin,
		log: filepath.Join(folder, "log"), test: t,
	}
	agent.flags = append([]string{"--counters", "memory", "--policies", bundle, "--listen", "127.0.0.1:" + port, "--listen-unix", agent.Socket,
		"--admin", "127.0.0.1:" + admin}, flags...)
	agent.Restart()
	t.Cleanup(agent.Kill)
	return agent
}

// Restart starts the agent again where it was. Its counters are empty.
func (a *Agent) Restart() {
	a.test.Helper()
	log, err := os.OpenFile(a.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		a.test.Fatal(err)
	}
	defer log.Close()
	a.program = exec.Command(find(a.test), a.flags...)
	a.program.Stdout, a.program.Stderr = log, log
	if err := a.program.Start(); err != nil {
		a.test.Fatal(err)
	}
	Until(a.test, "the agent is ready", func() bool {
		reply, err := http.Get(a.Admin + "/readyz")
		if err != nil {
			return false
		}
		_ = reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
}

// Kill ends the agent at once.
func (a *Agent) Kill() {
	if a.program.ProcessState != nil {
		return
	}
	_ = a.program.Process.Kill()
	_ = a.program.Wait()
	if a.test.Failed() {
		if text, err := os.ReadFile(a.log); err == nil {
			a.test.Logf("the agent's log:\n%s", text)
		}
	}
}

// Freeze stops the agent from running; Thaw lets it go on.
func (a *Agent) Freeze() { _ = a.program.Process.Signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (a *Agent) Thaw() { _ = a.program.Process.Signal(syscall.SIGCONT) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// Client makes a client of the agent, with time for a busy machine.
func (a *Agent) Client(t testing.TB, options ...sluice.Option) *sluice.Client {
	t.Helper()
	client, err := sluice.New(append([]sluice.Option{sluice.WithURL(a.URL), sluice.WithAPIKey(a.Key), sluice.WithTimeout(5 * time.Second), sluice.WithLogger(quiet)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Until waits for a condition, 30 s at most.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("this did not come within 30 s: %s", what)
}

// FreeForOthers waits until the lease of the plan one or brief of this subject is free, and says so.
func FreeForOthers(t testing.TB, client *sluice.Client, check sluice.Check) {
	t.Helper()
	Until(t, "the lease is free", func() bool { return Free(t, client, check) })
}

// Free says whether a check would take a lease now, and takes none.
func Free(t testing.TB, client *sluice.Client, check sluice.Check) bool {
	t.Helper()
	decision, err := client.Check(context.Background(), check)
	if err != nil || !decision.Decided {
		t.Fatalf("no decision: %v %v", err, decision.Err)
	}
	if decision.LeaseID == "" {
		return false
	}
	if _, err := client.Release(context.Background(), decision.LeaseID); err != nil {
		t.Fatal(err)
	}
	return true
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func find(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("TEST_AGENT"); given != "" {
		return given
	}
	newest, when := "", time.Time{}
	folder, _ := os.Getwd()
	for ; folder != "/"; folder = filepath.Dir(folder) {
		builds, _ := filepath.Glob(filepath.Join(folder, "build", "*", "bin", "sluice-agent"))
		for _, build := range builds {
			if state, err := os.Stat(build); err == nil && state.ModTime().After(when) {
				newest, when = build, state.ModTime()
			}
		}
	}
	if newest == "" {
		t.Fatal("no agent: set TEST_AGENT to the program sluice-agent, or build it")
	}
	return newest
}
