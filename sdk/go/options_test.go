package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
)

func TestARotatedKeyIsReadAgain(t *testing.T) {
	agent := testagent.Start(t)
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SLUICE_API_KEY_FILE", file)
	client := client(t, agent.URL) // the file is not read yet
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); d.Decided || d.Err.Kind != sluice.Refused {
		t.Errorf("%+v", d)
	}
	write("slk_old_key")
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); d.Decided || d.Status != 401 {
		t.Errorf("%+v", d)
	}
	write("\n" + agent.Key + " \n")
	if d := must(client.Check(background, sluice.Check{PlanID: "two", Subject: "a"}))(t); !d.Decided || *d.Remaining != 1 {
		t.Errorf("%+v %v", d, d.Err)
	}
}

func TestOptionsAndEnvironment(t *testing.T) {
	for _, is := range []struct{ environment, wants string }{
		{"", "agent: http://127.0.0.1:8088, timeout: 50ms, on_error: allow, api_key: none"},
		{"SLUICE_URL=http://h:1 SLUICE_TIMEOUT=1.5s SLUICE_ON_ERROR=deny SLUICE_API_KEY=slk_secret", "agent: http://h:1, timeout: 1.5s, on_error: deny, api_key: set"},
		{"SLUICE_URL=http://h:1 SLUICE_SOCKET=/run/a.sock", "agent: unix:///run/a.sock"},
		{"SLUICE_URL=https://h/", "agent: https://h,"},
		{"SLUICE_URL=http://[::1]:80", "agent: http://[::1]:80,"},
		{"SLUICE_TIMEOUT=50", "error: sluice: SLUICE_TIMEOUT must be a number above 0 with a unit (ms, s or m), such as 50ms; got \"50\""},
		{"SLUICE_ON_ERROR=open", "error: sluice: SLUICE_ON_ERROR must be allow, deny or raise; got \"open\""},
		{"SLUICE_URL=http://user:hidden@h", "error: sluice: SLUICE_URL must be http://HOST:PORT"},
		{"SLUICE_API_KEY=slk_sécret", "error: sluice: SLUICE_API_KEY must be visible ASCII"},
	} {
		t.Run(is.environment, func(t *testing.T) {
			for _, name := range []string{"URL", "SOCKET", "API_KEY", "API_KEY_FILE", "TIMEOUT", "ON_ERROR"} {
				t.Setenv("SLUICE_"+name, "")
			}
			for _, pair := range strings.Fields(is.environment) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			client, err := sluice.New()
			got := fmt.Sprintf("%v %+v %#v", client, client, client)
			if err != nil {
				got = "error: " + err.Error()
				if !errors.Is(err, sluice.ErrMisuse) {
					t.Error("not marked as misuse")
				}
			}
			if !strings.Contains(got, is.wants) || strings.Contains(got, "cret") || strings.Contains(got, "hidden@") {
				t.Error(got)
			}
		})
	}
	for _, options := range [][]sluice.Option{
		{sluice.WithURL("http://a"), sluice.WithSocket("/a")}, {sluice.WithAPIKey("a"), sluice.WithAPIKeyFile("b")}, {sluice.WithTimeout(0)},
		{sluice.WithTimeout(-time.Second)}, {sluice.WithOnError("x")}, {sluice.WithMaxConnections(0)}, {sluice.WithURL("")}, {sluice.WithURL("ftp://a")}, {sluice.WithSocket("/" + strings.Repeat("a", 107))},
		{sluice.WithURL("http://a/b")}, {sluice.WithURL("http://a:99999")}, {sluice.WithURL("unix://relative")}, {sluice.WithClientCertificate("a", "")},
		{sluice.WithURL("https://a"), sluice.WithCAFile("/nonexistent")}, {sluice.WithURL("https://a"), sluice.WithClientCertificate("/nonexistent", "/nonexistent")},
	} {
		if _, err := sluice.New(options...); !errors.Is(err, sluice.ErrMisuse) {
			t.Errorf("%v", err)
		}
	}
}

func TestErrorsAreLoggedOnceInTenSeconds(t *testing.T) {
	var log bytes.Buffer
	client := client(t, "http://127.0.0.1:1", sluice.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), sluice.WithAPIKey("slk_secret"))
	for range 50 {
		must(client.Check(background, sluice.Check{Subject: "a"}))(t)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "agent=http://127.0.0.1:1 kind=unreachable") ||
		!strings.Contains(log.String(), "checks are allowed") || strings.Contains(log.String(), "secret") {
		t.Error(log.String())
	}
}
