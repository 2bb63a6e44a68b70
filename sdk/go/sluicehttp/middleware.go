// Package sluicehttp limits what a net/http server serves, and what a net/http client sends.
//
//	limit := sluicehttp.Middleware(client, sluicehttp.Options{})
//	http.ListenAndServe(":8080", limit(mux))
package sluicehttp

import (
	"net/http"
	"strings"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// Route is what differs for one route.
type Route = web.Route[*http.Request]

// Options of the middleware; the zero value limits by the client's address.
type Options struct {
	web.Options[*http.Request]

	// Endpoint gives the endpoint of a request, if its route is not one of an *http.ServeMux. Empty: no route matches.
	Endpoint func(*http.Request) string
	// Address gives the client's address. Nil: RemoteAddr. Behind a proxy, give what your proxy says.
	Address func(*http.Request) string
	// Denied answers a request that was denied. Nil: 429 or 503 with a problem or, if the client prefers it, a text.
	Denied func(http.ResponseWriter, *http.Request, sluice.Decision)
}

// Middleware limits the handlers that it wraps. It finds the pattern of the route if it wraps an *http.ServeMux, or a handler that one calls.
func Middleware(client *sluice.Client, options Options) func(http.Handler) http.Handler {
	guard := web.New(client, options.Options)
	return func(next http.Handler) http.Handler {
		mux, _ := next.(*http.ServeMux)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serve(guard, &options, mux, next, w, r)
		})
	}
}

func serve(guard *web.Guard[*http.Request], options *Options, mux *http.ServeMux, next http.Handler, w http.ResponseWriter, r *http.Request) {
	facts := web.Facts{
		Method: r.Method, Endpoint: endpoint(options, mux, r), Address: r.RemoteAddr,
		TraceParent: r.Header.Get("Traceparent"), TraceState: strings.Join(r.Header.Values("Tracestate"), ","),
	}
	if options.Address != nil {
		facts.Address = options.Address(r)
	}
	pass, err := guard.Enter(r.Context(), r, facts)
	if err != nil {
		return // the client has gone away
	}
	defer pass.End()
	switch {
	case pass.Exempt:
		next.ServeHTTP(w, r)
	case pass.Denied && options.Denied != nil:
		options.Denied(w, r, pass.Decision)
	case pass.Denied:
		WriteDenial(w, r, pass.Decision)
	default:
		writer := &writer{ResponseWriter: w, decision: &pass.Decision}
		defer writer.decide()
		next.ServeHTTP(writer, r.WithContext(web.WithPass(r.Context(), pass)))
	}
}

// WriteDenial is what the middleware answers to a request that was denied.
func WriteDenial(w http.ResponseWriter, r *http.Request, decision sluice.Decision) {
	status, header, body := web.Denial(decision, r.Header.Get("Accept"))
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone away
}

// Decision gives the decision about a request that is being served. False: it was not checked.
func Decision(r *http.Request) (sluice.Decision, bool) { return web.Decision(r.Context()) }

// Preflight says whether a request is a browser's question by CORS: for Options.Exempt.
func Preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

func endpoint(options *Options, mux *http.ServeMux, r *http.Request) string {
	if options.Endpoint != nil {
		return options.Endpoint(r)
	}
	if mux == nil {
		return muxEndpoint(r.Pattern)
	}
	_, pattern := mux.Handler(r)
	if pattern == "" || r.Pattern == "" {
		return muxEndpoint(pattern)
	}
	// A mux in a mux: http.StripPrefix has cut what the outer one matched.
	written, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, _ := strings.CutSuffix(written, r.URL.EscapedPath())
	if strings.Contains(r.Pattern, "{") || prefix == written {
		return muxEndpoint(r.Pattern)
	}
	return prefix + muxEndpoint(pattern)
}

// muxEndpoint makes an endpoint of a pattern [METHOD ][HOST]/PATH.
func muxEndpoint(pattern string) string {
	slash := strings.IndexByte(pattern, '/')
	if slash < 0 {
		return ""
	}
	path := pattern[slash:]
	if strings.HasSuffix(path, "/") {
		path += "{path...}" // all that is below it
	}
	return web.Braces(strings.ReplaceAll(path, "*", "%2A"))
}
