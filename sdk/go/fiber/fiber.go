// Package sluicefiber limits what a Fiber app serves.
//
//	app.Use(sluicefiber.Middleware(client, sluicefiber.Options{}))
//
// The client's address is Fiber's IP, which believes a proxy's header only as the app's configuration says.
package sluicefiber

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v3"

	"sluice.dev/go"
	"sluice.dev/go/internal/peek"
	"sluice.dev/go/web"
)

// lookout is how often a connection is looked at while a handler holds a lease.
const lookout = 100 * time.Millisecond

// Route is what differs for one route.
type Route = web.Route[fiber.Ctx]

// Options of the middleware; the zero value limits by the client's address.
type Options struct {
	web.Options[fiber.Ctx]

	// Denied answers a request that was denied. Nil: 429 or 503 with a problem or, if the client prefers it, a text.
	Denied func(fiber.Ctx, sluice.Decision) error
}

// Middleware limits the handlers that come after it. Fiber knows the route of a request only when its handler runs, so the middleware
// looks it up, in the order of the app.
//
// A lease ends when the handlers have returned; Fiber sends the response after that. Fiber does not notice clients that go away, so while a
// handler holds a lease the middleware looks at the connection every 100 ms (not on Windows).
func Middleware(client *sluice.Client, options Options) fiber.Handler {
	guard := web.New(client, options.Options)
	routes := &routes{}
	return func(c fiber.Ctx) error { return serve(guard, routes, &options, c) }
}

func serve(guard *web.Guard[fiber.Ctx], routes *routes, options *Options, c fiber.Ctx) error {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	pass, err := guard.Enter(ctx, c, web.Facts{
		Method: c.Method(), Endpoint: routes.endpoint(c), Address: c.IP(),
		TraceParent: strings.Clone(c.Get("Traceparent")), TraceState: strings.Clone(c.Get("Tracestate")),
	})
	if err != nil {
		return err
	}
	defer pass.End()
	switch {
	case pass.Exempt:
		return c.Next()
	case pass.Denied && options.Denied != nil:
		return options.Denied(c, pass.Decision)
	case pass.Denied:
		status, header, body := web.Denial(pass.Decision, c.Get("Accept"))
		for name, values := range header {
			c.Set(name, strings.Join(values, ", "))
		}
		return c.Status(status).Send(body)
	}
	if pass.LeaseID != "" {
		go watch(ctx, cancel, c.RequestCtx().Conn())
	}
	c.SetContext(web.WithPass(c.Context(), pass))
	err = c.Next()
	if err != nil {
		err = c.App().Config().ErrorHandler(c, err) // so that its response gets the headers too
	}
	addHeaders(c, pass.Decision)
	return err
}

// watch ends the context when the client closes its connection.
func watch(ctx context.Context, cancel func(), connection net.Conn) {
	if over, ok := connection.(interface{ NetConn() net.Conn }); ok { // TLS
		connection = over.NetConn()
	}
	ticker := time.NewTicker(lookout)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if peek.Gone(connection) {
				cancel()
				return
			}
		}
	}
}

func addHeaders(c fiber.Ctx, decision sluice.Decision) {
	header := map[string][]string{}
	for name, value := range c.Response().Header.All() {
		header[string(name)] = append(header[string(name)], string(value))
	}
	before := make(map[string]bool, len(header))
	for name := range header {
		before[name] = true
	}
	const expose = "Access-Control-Expose-Headers"
	web.AddHeaders(header, decision)
	for name, values := range header {
		if !before[name] || name == expose {
			c.Set(name, strings.Join(values, ", "))
		}
	}
}

// Decision gives the decision about a request that is being served. False: it was not checked.
func Decision(c fiber.Ctx) (sluice.Decision, bool) { return web.Decision(c.Context()) }

// Preflight says whether a request is a browser's question by CORS: for Options.Exempt.
func Preflight(c fiber.Ctx) bool {
	return c.Method() == fiber.MethodOptions && c.Get("Access-Control-Request-Method") != ""
}

// routes are those of an app that handlers were given for, without middleware.
type routes struct {
	once sync.Once
	list map[string][]string // by method, in the order of the app
}

func (r *routes) endpoint(c fiber.Ctx) string {
	r.once.Do(func() {
		r.list = map[string][]string{}
		for _, route := range c.App().GetRoutes(true) {
			r.list[route.Method] = append(r.list[route.Method], route.Path)
		}
	})
	path := c.Path()
	for _, pattern := range r.list[c.Method()] {
		if fiber.RoutePatternMatch(path, pattern, c.App().Config()) {
			return web.Colons(pattern)
		}
	}
	return ""
}
