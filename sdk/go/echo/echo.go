// Package sluiceecho limits what an Echo server serves.
//
//	server.Use(sluiceecho.Middleware(client, sluiceecho.Options{}))
//
// The client's address is Echo's RealIP if the server has an IPExtractor, and otherwise the peer's: without one, Echo would believe every
// sender's X-Forwarded-For.
package sluiceecho

import (
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// Route is what differs for one route.
type Route = web.Route[echo.Context]

// Options of the middleware; the zero value limits by the client's address.
type Options struct {
	web.Options[echo.Context]

	// Denied answers a request that was denied. Nil: 429 or 503 with a problem or, if the client prefers it, a text.
	Denied func(echo.Context, sluice.Decision) error
}

// Middleware limits the handlers that come after it. With Pre of a server no route is known yet; take Use.
func Middleware(client *sluice.Client, options Options) echo.MiddlewareFunc {
	guard := web.New(client, options.Options)
	known := &patterns{}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return serve(guard, known, &options, next, c) }
	}
}

func serve(guard *web.Guard[echo.Context], known *patterns, options *Options, next echo.HandlerFunc, c echo.Context) error {
	request := c.Request()
	pass, err := guard.Enter(request.Context(), c, web.Facts{
		Method: request.Method, Endpoint: known.endpoint(c), Address: address(c),
		TraceParent: request.Header.Get("Traceparent"), TraceState: strings.Join(request.Header.Values("Tracestate"), ","),
	})
	if err != nil {
		return err // the client has gone away
	}
	defer pass.End()
	switch {
	case pass.Exempt:
		return next(c)
	case pass.Denied && options.Denied != nil:
		return options.Denied(c, pass.Decision)
	case pass.Denied:
		status, header, body := web.Denial(pass.Decision, request.Header.Get("Accept"))
		for name, values := range header {
			c.Response().Header()[name] = values
		}
		return c.Blob(status, header.Get("Content-Type"), body)
	}
	c.SetRequest(request.WithContext(web.WithPass(request.Context(), pass)))
	// Only when the response begins it is known which headers the handler set.
	c.Response().Before(func() { web.AddHeaders(c.Response().Header(), pass.Decision) })
	err = next(c)
	if err != nil {
		c.Error(err) // answers now, while the lease is held
	}
	return err
}

// patterns are those of an app's routes. Groups with middleware also have routes for what is not found; these are none.
type patterns struct {
	once  sync.Once
	known map[string]bool
}

func (p *patterns) endpoint(c echo.Context) string {
	p.once.Do(func() {
		p.known = map[string]bool{}
		for _, route := range c.Echo().Routes() {
			if route.Method != echo.RouteNotFound {
				p.known[route.Path] = true
			}
		}
	})
	if !p.known[c.Path()] {
		return ""
	}
	return web.Colons(c.Path())
}

func address(c echo.Context) string {
	if c.Echo().IPExtractor == nil {
		return c.Request().RemoteAddr
	}
	return c.RealIP()
}

// Decision gives the decision about a request that is being served. False: it was not checked.
func Decision(c echo.Context) (sluice.Decision, bool) { return web.Decision(c.Request().Context()) }

// Preflight says whether a request is a browser's question by CORS: for Options.Exempt.
func Preflight(c echo.Context) bool {
	return c.Request().Method == http.MethodOptions && c.Request().Header.Get("Access-Control-Request-Method") != ""
}
