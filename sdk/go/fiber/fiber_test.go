package sluicefiber_test

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"

	"sluice.dev/go"
	sluicefiber "sluice.dev/go/fiber"
	"sluice.dev/go/internal/webtest"
	"sluice.dev/go/web"
)

func answer(c fiber.Ctx) error { return c.SendString("ok") }

func TestMiddleware(t *testing.T) {
	webtest.Run(t, func(t *testing.T, client *sluice.Client, hooks *webtest.Hooks) string {
		app := fiber.New()
		app.Use(recover.New(), sluicefiber.Middleware(client, sluicefiber.Options{Options: web.Options[fiber.Ctx]{
			Key: func(c fiber.Ctx) string { return webtest.Key(c.Get("X-User")) }, Routes: webtest.Routes[fiber.Ctx](),
		}}))
		app.Get("/users/:id", func(c fiber.Ctx) error { return c.SendString(c.Params("id")) })
		app.Get("/files/*", answer)
		app.Post("/upload", answer)
		for _, path := range []string{"/free", "/shadow", "/delayed", "/slow", "/planned"} {
			app.Get(path, answer)
		}
		app.Get("/smaller", func(c fiber.Ctx) error {
			decision, _ := sluicefiber.Decision(c)
			return c.SendString(decision.DowngradeTo)
		})
		app.Get("/own", func(c fiber.Ctx) error {
			c.Set("X-RateLimit-Limit", "own")
			c.Set("Access-Control-Expose-Headers", "X-Mine")
			return c.SendStatus(200)
		})
		app.Get("/job", func(c fiber.Ctx) error {
			hooks.Work(c.Query("fail") != "")
			return c.SendStatus(200)
		})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
		t.Cleanup(func() { _ = app.Shutdown() })
		return "http://" + listener.Addr().String()
	})
}
