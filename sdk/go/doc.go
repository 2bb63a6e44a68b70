// Package sluice asks a Sluice agent whether a request may go on.
//
//	client, err := sluice.New()
//	...
//	decision, err := client.Check(ctx, sluice.Check{Resource: "GET:/orders", Subject: "user:42"})
//	if err == nil && !decision.Allowed {
//		// too many requests
//	}
//
// [New] without options finds the agent by SLUICE_URL or SLUICE_SOCKET, which the injector sets in a pod. A [Client] may be used by
// many goroutines. Middleware for net/http is in sluice.dev/go/sluicehttp, doubles for tests are in sluice.dev/go/sluicetest.
package sluice

// Version of this module. The client sends it as part of its User-Agent.
const Version = "0.1.0"
