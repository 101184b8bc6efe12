package main

import (
	"context"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// cloud translates upstream's interface into questions, without a cache and without batches.
type cloud struct {
	program
	can capabilities
}

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c *cloud) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return c, c.can.Interfaces.Instances }
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return c, c.can.Interfaces.LoadBalancer
}
func (c *cloud) Routes() (cloudprovider.Routes, bool)     { return c, c.can.Interfaces.Routes }
func (c *cloud) Zones() (cloudprovider.Zones, bool)       { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
func (c *cloud) ProviderName() string                     { return c.can.ProviderName }
func (c *cloud) HasClusterID() bool                       { return true }

type instance struct {
	Name             string            `json:"name"`
	State            string            `json:"state"`
	ProviderID       string            `json:"providerID"`
	InstanceType     string            `json:"instanceType"`
	Zone             string            `json:"zone"`
	Region           string            `json:"region"`
	Addresses        []v1.NodeAddress  `json:"addresses"`
	AdditionalLabels map[string]string `json:"additionalLabels"`
	Message          string            `json:"message"`
}

// instanceOf asks about one Node. A Node without exactly one entry, or of an unknown state, is an error.
func (c *cloud) instanceOf(node *v1.Node, want string) (*instance, error) {
	var result struct {
		Instances []instance `json:"instances"`
	}
	params := map[string]any{"nodes": []any{question(node)}, "want": []string{want}}
	if err := c.ask("instances", params, &result); err != nil {
		return nil, err
	}
	var found []instance
	for _, entry := range result.Instances {
		if entry.Name == node.Name {
			found = append(found, entry)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("instances: %d entries for %s", len(found), node.Name)
	}
	switch found[0].State {
	case "running", "shutdown", "notFound", "skip":
		return &found[0], nil
	}
	return nil, fmt.Errorf("instances: the state of %s is %q: %s", node.Name, found[0].State, found[0].Message)
}

func (c *cloud) InstanceExists(_ context.Context, node *v1.Node) (bool, error) {
	found, err := c.instanceOf(node, "state")
	return err == nil && found.State != "notFound", err
}

func (c *cloud) InstanceShutdown(_ context.Context, node *v1.Node) (bool, error) {
	found, err := c.instanceOf(node, "state")
	return err == nil && found.State == "shutdown", err
}

func (c *cloud) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.instanceOf(node, "metadata")
	switch {
	case err != nil:
		return nil, err
	case found.State == "notFound":
		return nil, cloudprovider.InstanceNotFound
	case found.State == "skip":
		return nil, nil
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: found.ProviderID, InstanceType: found.InstanceType, NodeAddresses: found.Addresses,
		Zone: found.Zone, Region: found.Region, AdditionalLabels: found.AdditionalLabels,
	}, nil
}

func (c *cloud) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (c *cloud) GetLoadBalancer(_ context.Context, _ string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	var result struct {
		Exists bool                  `json:"exists"`
		Status v1.LoadBalancerStatus `json:"status"`
	}
	err := c.ask("lb-get", balanced(service, nil), &result)
	return &result.Status, result.Exists, err
}

func (c *cloud) EnsureLoadBalancer(_ context.Context, _ string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	var result struct {
		Status *v1.LoadBalancerStatus `json:"status"`
	}
	err := c.ask("lb-ensure", balanced(service, nodes), &result)
	return result.Status, err
}

func (c *cloud) UpdateLoadBalancer(_ context.Context, _ string, service *v1.Service, nodes []*v1.Node) error {
	return c.ask("lb-update", balanced(service, nodes), nil)
}

func (c *cloud) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *v1.Service) error {
	return c.ask("lb-delete", balanced(service, nil), nil)
}

type route struct {
	Name                string           `json:"name,omitempty"`
	TargetNode          string           `json:"targetNode"`
	TargetNodeAddresses []v1.NodeAddress `json:"targetNodeAddresses,omitempty"`
	DestinationCIDR     string           `json:"destinationCIDR"`
	Blackhole           bool             `json:"blackhole,omitempty"`
	NameHint            string           `json:"nameHint,omitempty"`
}

func (c *cloud) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	var result struct {
		Routes []route `json:"routes"`
	}
	if err := c.ask("routes-list", nil, &result); err != nil {
		return nil, err
	}
	var routes []*cloudprovider.Route
	for _, listed := range result.Routes {
		routes = append(routes, &cloudprovider.Route{
			Name: listed.Name, TargetNode: types.NodeName(listed.TargetNode), Blackhole: listed.Blackhole,
			EnableNodeAddresses: c.can.Features.RouteNodeAddresses, TargetNodeAddresses: listed.TargetNodeAddresses,
			DestinationCIDR: listed.DestinationCIDR,
		})
	}
	return routes, nil
}

func (c *cloud) CreateRoute(_ context.Context, _ string, nameHint string, wanted *cloudprovider.Route) error {
	return c.applyRoutes("create", route{
		TargetNode: string(wanted.TargetNode), TargetNodeAddresses: wanted.TargetNodeAddresses,
		DestinationCIDR: wanted.DestinationCIDR, NameHint: nameHint})
}

func (c *cloud) DeleteRoute(_ context.Context, _ string, listed *cloudprovider.Route) error {
	return c.applyRoutes("delete", route{
		Name: listed.Name, TargetNode: string(listed.TargetNode), TargetNodeAddresses: listed.TargetNodeAddresses,
		DestinationCIDR: listed.DestinationCIDR, Blackhole: listed.Blackhole})
}

func (c *cloud) applyRoutes(list string, changed route) error {
	type outcome struct {
		Error *failure `json:"error"`
	}
	result := map[string][]outcome{}
	params := map[string]any{"create": []route{}, "delete": []route{}}
	params[list] = []route{changed}
	if err := c.ask("routes-apply", params, &result); err != nil {
		return err
	}
	if len(result[list]) != 1 {
		return fmt.Errorf("routes-apply: %d results for one route", len(result[list]))
	}
	if result[list][0].Error != nil {
		return result[list][0].Error.of("routes-apply")
	}
	return nil
}

// question is what a provider is told of a Node in `instances`.
func question(node *v1.Node) map[string]any {
	var ready any
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status != v1.ConditionUnknown {
			ready = condition.Status == v1.ConditionTrue
		}
	}
	return map[string]any{
		"name": node.Name, "uid": node.UID, "providerID": node.Spec.ProviderID, "labels": node.Labels,
		"annotations": node.Annotations, "addresses": node.Status.Addresses,
		"createdAt": node.CreationTimestamp, "ready": ready,
	}
}

// balanced is the question about a Service and its Nodes, which come sorted by name.
func balanced(service *v1.Service, nodes []*v1.Node) map[string]any {
	plain := service.DeepCopy()
	plain.ManagedFields, plain.APIVersion, plain.Kind = nil, "v1", "Service"
	targets := []any{}
	sorted := append([]*v1.Node{}, nodes...) // the loop's own list must stay as it is
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for _, node := range sorted {
		targets = append(targets, map[string]any{
			"name": node.Name, "uid": node.UID, "providerID": node.Spec.ProviderID,
			"addresses": node.Status.Addresses, "labels": node.Labels,
		})
	}
	return map[string]any{"service": plain, "name": cloudprovider.DefaultLoadBalancerName(service), "nodes": targets}
}
