module sluice.dev/go/otel

go 1.26.0

require (
	go.opentelemetry.io/otel/trace v1.47.0
	sluice.dev/go v0.1.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
)

replace sluice.dev/go => ../
