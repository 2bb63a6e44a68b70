package sluiceecho_test

import (
	"io"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"sluice.dev/go"
	sluiceecho "sluice.dev/go/echo"
	"sluice.dev/go/internal/webtest"
	"sluice.dev/go/sluicetest"
	"sluice.dev/go/web"
)

func answer(c echo.Context) error { return c.String(200, "ok") }

func TestMiddleware(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		app := echo.New()
		app.Logger.SetOutput(io.Discard)
		app.Use(middleware.Recover(), sluiceecho.Middleware(client, sluiceecho.Options{Options: web.Options[echo.Context]{
			Key: func(c echo.Context) string { return webtest.Key(c.Request().Header.Get("X-User")) }, Routes: webtest.Routes[echo.Context](),
		}}))
		app.GET("/users/:id", func(c echo.Context) error { return c.String(200, c.Param("id")) })
		app.GET("/files/*", answer)
		app.POST("/upload", answer)
		for _, path := range []string{"/free", "/shadow", "/delayed", "/slow", "/planned"} {
			app.GET(path, answer)
		}
		app.GET("/smaller", func(c echo.Context) error {
			decision, _ := sluiceecho.Decision(c)
			return c.String(200, decision.DowngradeTo)
		})
		app.GET("/own", func(c echo.Context) error {
			c.Response().Header().Set("X-RateLimit-Limit", "own")
			c.Response().Header().Set("Access-Control-Expose-Headers", "X-Mine")
			return c.NoContent(200)
		})
		app.GET("/job", func(c echo.Context) error {
			hooks.Work(c.QueryParam("fail") != "")
			return c.NoContent(200)
		})
		server := httptest.NewServer(app)
		t.Cleanup(server.Close)
		return server.URL
	})
}

func TestAddressesAndDenials(t *testing.T) {
	for _, is := range []struct {
		extract echo.IPExtractor
		subject string
	}{{nil, "ip:192.0.2.1"}, {echo.ExtractIPFromXFFHeader(echo.TrustIPRange(&net.IPNet{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)})), "ip:203.0.113.9"}} {
		double := sluicetest.AlwaysDeny()
		app := echo.New()
		app.IPExtractor = is.extract
		app.GET("/users/:id", answer, sluiceecho.Middleware(double.Client, sluiceecho.Options{
			Options: web.Options[echo.Context]{Exempt: sluiceecho.Preflight},
			Denied:  func(c echo.Context, d sluice.Decision) error { return c.String(418, d.Reason) },
		}))
		request := httptest.NewRequest("GET", "/users/1", nil)
		request.RemoteAddr = "192.0.2.1:1"
		request.Header.Set("X-Forwarded-For", "203.0.113.9")
		recorder := httptest.NewRecorder()
		app.ServeHTTP(recorder, request)
		if recorder.Code != 418 || double.Checks()[0].Subject != is.subject || double.Checks()[0].Resource != "GET:/users/{id}" {
			t.Errorf("%d %+v", recorder.Code, double.Checks())
		}
	}
}
