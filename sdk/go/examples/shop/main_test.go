package main

import (
	"net/http/httptest"
	"testing"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicetest"
)

func TestTheShopAsksAndObeys(t *testing.T) {
	double := sluicetest.Scripted([]sluicetest.Answer{
		sluicetest.Allow(), sluicetest.Deny(time.Minute), sluicetest.Give(sluice.Decision{Allowed: true, DowngradeTo: "small"}), sluicetest.Allow(), sluicetest.Allow(),
	})
	handler := shop(double.Client)
	for _, is := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/orders/7", `{"order":"7"}` + "\n", 200}, {"GET", "/orders/7", "", 429}, {"GET", "/healthz", "", 200},
		{"POST", "/reports", `{"report":"small"}` + "\n", 200}, {"POST", "/exports", `{"export":"done"}` + "\n", 200},
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(is.method, is.path, nil))
		if recorder.Code != is.status || (is.body != "" && recorder.Body.String() != is.body) {
			t.Errorf("%s %s: %d %s", is.method, is.path, recorder.Code, recorder.Body)
		}
	}
	checks := double.Checks()
	if len(checks) != 5 || checks[0].Resource != "GET:/orders/{id}" || *checks[2].Cost != 10 || checks[4].Resource != "export" || len(double.OpenLeases()) != 0 {
		t.Errorf("%+v %v", checks, double.OpenLeases())
	}
}
