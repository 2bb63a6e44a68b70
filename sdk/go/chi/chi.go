// Package sluicechi limits what a chi router serves.
//
//	router.Use(sluicechi.Middleware(client, sluicehttp.Options{}))
package sluicechi

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"sluice.dev/go"
	"sluice.dev/go/sluicehttp"
	"sluice.dev/go/web"
)

// Middleware is for Use and With of a chi router. It is that of sluicehttp, which also has the decision of a request, with chi's patterns.
// The client's address is RemoteAddr, which chi's middleware for real addresses may set before.
func Middleware(client *sluice.Client, options sluicehttp.Options) func(http.Handler) http.Handler {
	if options.Endpoint == nil {
		options.Endpoint = endpoint
	}
	return sluicehttp.Middleware(client, options)
}

// endpoint asks the routes of the outermost router, because a middleware of Use runs before chi has chosen one.
func endpoint(r *http.Request) string {
	routing := chi.RouteContext(r.Context())
	if routing == nil || routing.Routes == nil {
		return ""
	}
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	found := chi.NewRouteContext()
	if !routing.Routes.Match(found, r.Method, path) {
		return ""
	}
	return web.Braces(found.RoutePattern())
}
