module sluice.dev/go/chi

go 1.24

require sluice.dev/go v0.1.0

require github.com/go-chi/chi/v5 v5.5.0

replace sluice.dev/go => ../
