package sluicehttp_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice.dev/go"
	"sluice.dev/go/internal/webtest"
	"sluice.dev/go/sluicehttp"
	"sluice.dev/go/sluicetest"
	"sluice.dev/go/web"
)

func options() sluicehttp.Options {
	return sluicehttp.Options{Options: web.Options[*http.Request]{
		Key: func(r *http.Request) string { return webtest.Key(r.Header.Get("X-User")) }, Routes: webtest.Routes[*http.Request](),
	}}
}

func answer(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// routes of the application; each handler is wrapped by each.
func routes(hooks *webtest.Hooks, each func(http.Handler) http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /users/{id}": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.PathValue("id")) },
		"/files/":         answer, "POST /upload": answer, "/free": answer, "/shadow": answer, "/delayed": answer, "/slow": answer, "/planned": answer,
		"GET /smaller": func(w http.ResponseWriter, r *http.Request) {
			decision, _ := sluicehttp.Decision(r)
			_, _ = io.WriteString(w, decision.DowngradeTo)
		},
		"GET /own": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "own")
			w.Header().Set("Access-Control-Expose-Headers", "X-Mine")
			w.WriteHeader(http.StatusOK)
		},
		"GET /job": func(_ http.ResponseWriter, r *http.Request) { hooks.Work(r.URL.Query().Get("fail") != "") },
	} {
		mux.Handle(pattern, each(handler))
	}
	return mux
}

func start(t *testing.T, handler http.Handler) string {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func TestAroundAServeMux(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		return start(t, sluicehttp.Middleware(client, options())(routes(hooks, func(h http.Handler) http.Handler { return h })))
	})
}

func TestInsideAServeMux(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		limit := sluicehttp.Middleware(client, options())
		mux := routes(hooks, limit)
		outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, pattern := mux.Handler(r); pattern == "" {
				limit(http.NotFoundHandler()).ServeHTTP(w, r)
				return
			}
			mux.ServeHTTP(w, r)
		})
		return start(t, outer)
	})
}

func TestThePatternOfARouteIsTheEndpoint(t *testing.T) {
	for pattern, is := range map[string][2]string{
		"GET /users/{id}/posts/{post}": {"/users/7/posts/8", "/users/{id}/posts/{post}"}, "/files/{rest...}": {"/files/a/b", "/files/{rest}"},
		"/exact/{$}": {"/exact/", "/exact/"}, "/tree/": {"/tree/a/b", "/tree/{path}"}, "example.com/host/{x}": {"/host/1", "/host/{x}"},
		"/a:b/*": {"/a:b/*", "/a:b/%2A"},
	} {
		double := sluicetest.AlwaysAllow()
		mux := http.NewServeMux()
		mux.HandleFunc(pattern, answer)
		request := httptest.NewRequest("GET", "http://example.com"+is[0], nil)
		request.RemoteAddr = "[2001:db8:1:2:3::4]:5"
		request.Header.Set("Traceparent", "00-aa-bb-01")
		sluicehttp.Middleware(double.Client, sluicehttp.Options{})(mux).ServeHTTP(httptest.NewRecorder(), request)
		want := sluice.Check{Resource: "GET:" + is[1], Endpoint: is[1], Method: "GET", Subject: "ip:2001:db8:1:2::/64", SourceIP: "2001:db8:1:2:3::4"}
		got := double.Checks()[0]
		if got.Resource != want.Resource || got.Endpoint != want.Endpoint || got.Subject != want.Subject || got.SourceIP != want.SourceIP || got.Method != want.Method {
			t.Errorf("%s: %+v", pattern, got)
		}
	}
}

func TestAMuxInAMux(t *testing.T) {
	for name, build := range map[string]func(inner http.Handler) (pattern string, handler http.Handler){
		"cut":     func(inner http.Handler) (string, http.Handler) { return "/api/", http.StripPrefix("/api", inner) },
		"not cut": func(inner http.Handler) (string, http.Handler) { return "/", inner },
	} {
		double := sluicetest.AlwaysAllow()
		inner, outer := http.NewServeMux(), http.NewServeMux()
		inner.HandleFunc("GET /users/{id}", answer)
		inner.HandleFunc("GET /api/users/{id}", answer)
		pattern, handler := build(sluicehttp.Middleware(double.Client, sluicehttp.Options{})(inner))
		outer.Handle(pattern, handler)
		for _, path := range []string{"/api/users/7?x=/users/8", "/api/lost"} {
			outer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		}
		if got := double.Checks(); got[0].Endpoint != "/api/users/{id}" || got[1].Endpoint != web.Unmatched {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAWrappedResponseCanStillFlushAndBeHijacked(t *testing.T) {
	double := sluicetest.AlwaysAllow()
	url := start(t, sluicehttp.Middleware(double.Client, sluicehttp.Options{Endpoint: func(*http.Request) string { return "/all" }})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/flush" {
				_, _ = io.WriteString(w, "a")
				w.(http.Flusher).Flush()
				_, _ = io.Copy(w, strings.NewReader("b"))
				return
			}
			connection, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer connection.Close()
			_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
			_ = buffered.Flush()
		})))
	for path, want := range map[string]string{"/flush": "ab", "/hijack": "hi"} {
		got, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if string(body) != want {
			t.Errorf("%q", body)
		}
	}
}

func TestAHandlerForDenialsAndExemptPreflights(t *testing.T) {
	double := sluicetest.AlwaysDeny()
	handler := sluicehttp.Middleware(double.Client, sluicehttp.Options{
		Options: web.Options[*http.Request]{Exempt: sluicehttp.Preflight},
		Denied: func(w http.ResponseWriter, _ *http.Request, d sluice.Decision) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, d.Reason)
		},
	})(http.HandlerFunc(answer))
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	if recorder.Code != http.StatusTeapot || recorder.Body.String() != "limit_exceeded" {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
	preflight := httptest.NewRequest("OPTIONS", "/", nil)
	preflight.Header.Set("Access-Control-Request-Method", "PUT")
	recorder = httptest.NewRecorder()
	handler.ServeHTTP(recorder, preflight)
	if recorder.Code != http.StatusOK || len(double.Checks()) != 1 {
		t.Errorf("%d, %d checks", recorder.Code, len(double.Checks()))
	}
}
