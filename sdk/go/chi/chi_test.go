package sluicechi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"sluice.dev/go"
	sluicechi "sluice.dev/go/chi"
	"sluice.dev/go/internal/webtest"
	"sluice.dev/go/sluicehttp"
	"sluice.dev/go/sluicetest"
	"sluice.dev/go/web"
)

func answer(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func routes(router chi.Router, hooks *webtest.Hooks) {
	router.Get("/users/{id:[0-9a-z]+}", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, chi.URLParam(r, "id")) })
	router.Route("/files", func(files chi.Router) { files.Get("/*", answer) })
	router.Post("/upload", answer)
	for _, path := range []string{"/free", "/shadow", "/delayed", "/slow", "/planned"} {
		router.Get(path, answer)
	}
	router.Get("/smaller", func(w http.ResponseWriter, r *http.Request) {
		decision, _ := sluicehttp.Decision(r)
		_, _ = io.WriteString(w, decision.DowngradeTo)
	})
	router.Get("/own", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "own")
		w.Header().Set("Access-Control-Expose-Headers", "X-Mine")
	})
	router.Get("/job", func(_ http.ResponseWriter, r *http.Request) { hooks.Work(r.URL.Query().Get("fail") != "") })
}

func TestMiddleware(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		router := chi.NewRouter()
		router.Use(middleware.Recoverer, sluicechi.Middleware(client, sluicehttp.Options{Options: web.Options[*http.Request]{
			Key: func(r *http.Request) string { return webtest.Key(r.Header.Get("X-User")) }, Routes: webtest.Routes[*http.Request](),
		}}))
		routes(router, hooks)
		server := httptest.NewServer(router)
		t.Cleanup(server.Close)
		return server.URL
	})
}

func TestTheEndpointIsTheWholePatternInEveryPlace(t *testing.T) {
	for name, build := range map[string]func(limit func(http.Handler) http.Handler) http.Handler{
		"use": func(limit func(http.Handler) http.Handler) http.Handler {
			router := chi.NewRouter()
			router.Use(limit)
			router.Route("/api/{version}", func(api chi.Router) { api.Get("/users/{id:[0-9]{1,9}}", answer) })
			return router
		},
		"with": func(limit func(http.Handler) http.Handler) http.Handler {
			router := chi.NewRouter()
			router.Route("/api/{version}", func(api chi.Router) { api.With(limit).Get("/users/{id}", answer) })
			return router
		},
		"mount": func(limit func(http.Handler) http.Handler) http.Handler {
			inner := chi.NewRouter()
			inner.Use(limit)
			inner.Get("/users/{id}", answer)
			router := chi.NewRouter()
			router.Mount("/api/{version}", inner)
			return router
		},
	} {
		double := sluicetest.AlwaysAllow()
		handler := build(sluicechi.Middleware(double.Client, sluicehttp.Options{}))
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/2/users/7", nil))
		if checks := double.Checks(); len(checks) != 1 || checks[0].Resource != "GET:/api/{version}/users/{id}" {
			t.Errorf("%s: %+v", name, checks)
		}
	}
}
