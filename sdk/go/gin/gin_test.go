package sluicegin_test

import (
	"io"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"sluice.dev/go"
	sluicegin "sluice.dev/go/gin"
	"sluice.dev/go/internal/webtest"
	"sluice.dev/go/sluicetest"
	"sluice.dev/go/web"
)

func answer(c *gin.Context) { c.String(200, "ok") }

func engine(t *testing.T) *gin.Engine {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	gin.DefaultErrorWriter = io.Discard
	made := gin.New()
	if err := made.SetTrustedProxies(nil); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestMiddleware(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		engine := engine(t)
		engine.Use(gin.Recovery(), sluicegin.Middleware(client, sluicegin.Options{Options: web.Options[*gin.Context]{
			Key: func(c *gin.Context) string { return webtest.Key(c.GetHeader("X-User")) }, Routes: webtest.Routes[*gin.Context](),
		}}))
		engine.GET("/users/:id", func(c *gin.Context) { c.String(200, c.Param("id")) })
		engine.GET("/files/*path", answer)
		engine.POST("/upload", answer)
		for _, path := range []string{"/free", "/shadow", "/delayed", "/slow", "/planned"} {
			engine.GET(path, answer)
		}
		engine.GET("/smaller", func(c *gin.Context) {
			decision, _ := sluicegin.Decision(c)
			c.String(200, decision.DowngradeTo)
		})
		engine.GET("/own", func(c *gin.Context) {
			c.Header("X-RateLimit-Limit", "own")
			c.Header("Access-Control-Expose-Headers", "X-Mine")
			c.Status(200)
		})
		engine.GET("/job", func(c *gin.Context) { hooks.Work(c.Query("fail") != "") })
		server := httptest.NewServer(engine)
		t.Cleanup(server.Close)
		return server.URL
	})
}

func TestAHandlerForDenialsAndGroups(t *testing.T) {
	double := sluicetest.AlwaysDeny()
	engine := engine(t)
	ran := false
	engine.Group("/api", sluicegin.Middleware(double.Client, sluicegin.Options{
		Options: web.Options[*gin.Context]{Exempt: sluicegin.Preflight},
		Denied:  func(c *gin.Context, d sluice.Decision) { c.String(418, d.Reason) },
	})).GET("/users/:id", func(*gin.Context) { ran = true })
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest("GET", "/api/users/1", nil))
	if recorder.Code != 418 || recorder.Body.String() != "limit_exceeded" || ran || double.Checks()[0].Endpoint != "/api/users/{id}" {
		t.Errorf("%d %s %+v", recorder.Code, recorder.Body, double.Checks())
	}
}
