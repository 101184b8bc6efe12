// Command controlplane is a whole Kubernetes control plane in one binary: its first argument chooses the component,
// the rest are that component's own flags. It exists because the test bed may rely on the Go module proxy only, not on
// container images or downloaded releases. kwok is built beside it: its flags clash with those of the others.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	component := os.Args[1]
	os.Args = append([]string{component}, os.Args[2:]...)
	if component == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	newCommand, known := commands[component]
	if !known {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(cli.Run(newCommand()))
}
