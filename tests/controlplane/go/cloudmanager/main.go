// Upstream's cloud controller manager with a cloud that is an executable: the same loops that Kubernetes ships, asking
// the same programs as `hookrunner cloud start`, one call for each question about one Node. It is what the scenarios of
// tests/cloud and `python -m benchmarks cloud` compare with.
//
//	cloudmanager --cloud-provider=executable --cloud-config=CONFIG --kubeconfig=FILE ...
//
// CONFIG is JSON: {"command": ["/providers/simcloud"], "env": ["SIMCLOUD_STATE=/tmp/state.json"]}.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

const providerName = "executable"

func main() {
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("no options: %v", err)
	}
	cloudprovider.RegisterCloudProvider(providerName, newCloud)
	command := app.NewCloudControllerManagerCommand(
		defaults, initializeCloud, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), flag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}

func initializeCloud(completed *config.CompletedConfig) cloudprovider.Interface {
	settings := completed.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(settings.Name, settings.CloudConfigFile)
	if err != nil {
		klog.Fatalf("the cloud cannot be used: %v", err)
	}
	return cloud
}

// newCloud reads the configuration and asks the program what it can do.
func newCloud(text io.Reader) (cloudprovider.Interface, error) {
	if text == nil {
		return nil, errors.New("--cloud-config is missing")
	}
	var asked program
	if err := json.NewDecoder(text).Decode(&asked); err != nil {
		return nil, err
	}
	var can capabilities
	if err := asked.ask("capabilities", nil, &can); err != nil {
		return nil, err
	}
	return &cloud{program: asked, can: can}, nil
}
