// Command shop is a small shop that limits what it serves and what it calls. In a pod with an injected agent it needs no configuration:
//
//	SLUICE_URL=http://127.0.0.1:8088 SLUICE_API_KEY=slk_… go run ./examples/shop
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sluice.dev/go"
	"sluice.dev/go/sluicehttp"
	"sluice.dev/go/web"
)

func main() {
	client, err := sluice.New()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:8081"
	}
	server := &http.Server{Addr: address, Handler: shop(client), ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	log.Printf("the shop is open at http://%s; %s", address, client)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// shop is the handler of all routes behind their limits.
func shop(client *sluice.Client) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"order": r.PathValue("id")})
	})
	mux.HandleFunc("POST /reports", func(w http.ResponseWriter, r *http.Request) {
		size := "large"
		if decision, ok := sluicehttp.Decision(r); ok && decision.DowngradeTo != "" {
			size = decision.DowngradeTo // the policy's action is downgrade
		}
		answer(w, map[string]any{"report": size})
	})
	mux.HandleFunc("POST /exports", func(w http.ResponseWriter, r *http.Request) {
		export(client, w, r)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"status": "ok"}) })

	limit := sluicehttp.Middleware(client, sluicehttp.Options{Options: web.Options[*http.Request]{
		Key: func(r *http.Request) string {
			if user, _, ok := r.BasicAuth(); ok {
				return "user:" + user
			}
			return "" // the client's address
		},
		Exempt: sluicehttp.Preflight,
		Routes: map[string]sluicehttp.Route{
			"/healthz":      {Exempt: true},
			"POST /reports": {Cost: web.Fixed[*http.Request](10)},
		},
	}})
	return limit(mux)
}

// export is a job of which only some may run at once: a plan with the algorithm concurrency counts them.
func export(client *sluice.Client, w http.ResponseWriter, r *http.Request) {
	lease, err := client.Lease(r.Context(), sluice.Check{Resource: "export", Subject: "shop"}, sluice.KeepAlive())
	if err != nil {
		return // the client has gone away
	}
	defer lease.End(r.Context())
	if !lease.Allowed {
		sluicehttp.WriteDenial(w, r, lease.Decision)
		return
	}
	select {
	case <-time.After(100 * time.Millisecond): // the work
	case <-r.Context().Done():
		return
	}
	answer(w, map[string]any{"export": "done"})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Print(err)
	}
}
