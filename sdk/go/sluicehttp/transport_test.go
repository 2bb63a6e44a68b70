package sluicehttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/internal/testagent"
	"sluice.dev/go/sluicehttp"
)

func TestRequestsThatAClientSendsAreLimited(t *testing.T) {
	agent := testagent.Start(t)
	limits := agent.Client(t)
	var served int
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { served++; answer(w, nil) }))
	plan := func(plan string) func(*http.Request) sluice.Check {
		return func(r *http.Request) sluice.Check { return sluice.Check{PlanID: plan, Subject: r.URL.Path} }
	}
	get := func(options sluicehttp.TransportOptions, path string) (*http.Response, error) {
		client := http.Client{Transport: sluicehttp.RoundTripper(limits, nil, options)}
		response, err := client.Get(url + path)
		if err == nil {
			t.Cleanup(func() { _ = response.Body.Close() })
		}
		return response, err
	}
	for range 2 {
		if response, err := get(sluicehttp.TransportOptions{Check: plan("two")}, "/a"); err != nil || response.StatusCode != 200 {
			t.Fatal(err)
		}
	}
	_, err := get(sluicehttp.TransportOptions{Check: plan("two")}, "/a")
	var denied *sluicehttp.DeniedError
	if !errors.As(err, &denied) || denied.Reason != "limit_exceeded" || !strings.Contains(err.Error(), "try again in") || served != 2 {
		t.Errorf("%v, served %d", err, served)
	}
	response, err := get(sluicehttp.TransportOptions{Check: plan("two"), Respond: true}, "/a")
	if err != nil || response.StatusCode != 429 || response.Header.Get("Retry-After") == "" || served != 2 {
		t.Errorf("%v %+v", err, response)
	}
	begun := time.Now()
	for range 3 {
		if _, err := get(sluicehttp.TransportOptions{Check: plan("soon"), Wait: 20 * time.Second}, "/b"); err != nil {
			t.Fatal(err)
		}
	}
	if time.Since(begun) < 300*time.Millisecond {
		t.Error("did not wait")
	}
	// A lease lasts until the body has been read.
	response, err = get(sluicehttp.TransportOptions{Check: plan("one")}, "/c")
	if err != nil {
		t.Fatal(err)
	}
	check := sluice.Check{PlanID: "one", Subject: "/c"}
	if testagent.Free(t, limits, check) {
		t.Error("the lease is not held")
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if !testagent.Free(t, limits, check) {
		t.Error("the lease is still held")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	if _, err := sluicehttp.RoundTripper(limits, nil, sluicehttp.TransportOptions{}).RoundTrip(request); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
