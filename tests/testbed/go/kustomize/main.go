// kustomize as kubectl has it, by itself: for whoever renders manifests and needs no cluster.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/kustomize"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if kustomize.NewCmdKustomize(streams).Execute() != nil {
		os.Exit(1)
	}
}
