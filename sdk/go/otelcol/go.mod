module sluice.dev/go/otelcol

go 1.26.0

require sluice.dev/go v0.1.0

require go.opentelemetry.io/collector/pdata v1.71.0 // indirect

replace sluice.dev/go => ../
