// Checks four requests, then holds a lease and gives it back.
package main

import (
	"fmt"
	"log"

	"example.com/check/sluice"
)

func main() {
	engine, err := sluice.Open(sluice.Options{"bundle_file": "policies.yaml"})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	for i := 0; i < 4; i++ {
		decision, err := engine.Check(sluice.Request{Resource: "GET:/orders", Subject: "user:42"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, %d left\n", decision.Action, decision.Reason, decision.Remaining)
	}
	lease, err := engine.Check(sluice.Request{JobType: "export", User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	if lease.Allowed {
		fmt.Println("exporting")
		if err := engine.Release(lease.LeaseID); err != nil {
			log.Fatal(err)
		}
	}
}
