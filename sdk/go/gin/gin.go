// Package sluicegin limits what a gin engine serves.
//
//	engine.Use(sluicegin.Middleware(client, sluicegin.Options{}))
//
// The client's address is gin's ClientIP. By default gin believes every sender's X-Forwarded-For: call SetTrustedProxies, with nil if
// there is no proxy, or clients choose their address.
package sluicegin

import (
	"bufio"
	"net"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"sluice.dev/go"
	"sluice.dev/go/web"
)

// Route is what differs for one route.
type Route = web.Route[*gin.Context]

// Options of the middleware; the zero value limits by the client's address.
type Options struct {
	web.Options[*gin.Context]

	// Denied answers a request that was denied. Nil: 429 or 503 with a problem or, if the client prefers it, a text.
	Denied func(*gin.Context, sluice.Decision)
}

// Middleware limits the handlers that come after it.
func Middleware(client *sluice.Client, options Options) gin.HandlerFunc {
	guard := web.New(client, options.Options)
	return func(c *gin.Context) {
		pass, err := guard.Enter(c.Request.Context(), c, web.Facts{
			Method: c.Request.Method, Endpoint: web.Colons(c.FullPath()), Address: c.ClientIP(),
			TraceParent: c.GetHeader("Traceparent"), TraceState: strings.Join(c.Request.Header.Values("Tracestate"), ","),
		})
		if err != nil {
			c.Abort() // the client has gone away
			return
		}
		defer pass.End()
		switch {
		case pass.Exempt:
			c.Next()
		case pass.Denied:
			c.Abort()
			if options.Denied != nil {
				options.Denied(c, pass.Decision)
				return
			}
			deny(c, pass.Decision)
		default:
			c.Request = c.Request.WithContext(web.WithPass(c.Request.Context(), pass))
			writer := &writer{ResponseWriter: c.Writer, decision: &pass.Decision}
			c.Writer = writer
			defer func() {
				writer.decide()
				c.Writer = writer.ResponseWriter
			}()
			c.Next()
		}
	}
}

func deny(c *gin.Context, decision sluice.Decision) {
	status, header, body := web.Denial(decision, c.GetHeader("Accept"))
	for name, values := range header {
		c.Writer.Header()[name] = values
	}
	c.Data(status, header.Get("Content-Type"), body)
}

// Decision gives the decision about a request that is being served. False: it was not checked.
func Decision(c *gin.Context) (sluice.Decision, bool) { return web.Decision(c.Request.Context()) }

// Preflight says whether a request is a browser's question by CORS: for Options.Exempt.
func Preflight(c *gin.Context) bool {
	return c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != ""
}

// writer adds the decision's headers when gin begins to answer, because only then it is known which ones the handler set.
type writer struct {
	gin.ResponseWriter
	decision *sluice.Decision
	begun    bool
}

func (w *writer) decide() {
	if !w.begun && !w.Written() {
		web.AddHeaders(w.Header(), *w.decision)
	}
	w.begun = true
}

func (w *writer) WriteHeaderNow() {
	w.decide()
	w.ResponseWriter.WriteHeaderNow()
}

func (w *writer) Write(body []byte) (int, error) {
	w.decide()
	return w.ResponseWriter.Write(body)
}

func (w *writer) WriteString(body string) (int, error) {
	w.decide()
	return w.ResponseWriter.WriteString(body)
}

func (w *writer) Flush() {
	w.decide()
	w.ResponseWriter.Flush()
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begun = true
	return w.ResponseWriter.Hijack()
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
