package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
)

const (
	apiVersion = "cloud.hookrunner.io/v1"
	deadline   = 60 * time.Second
)

// program is an executable that answers one question of the wire format of docs/providers.md in each run.
type program struct {
	Command []string `json:"command"`
	Env     []string `json:"env"`
}

type request struct {
	APIVersion      string         `json:"apiVersion"`
	Verb            string         `json:"verb"`
	RequestID       string         `json:"requestID"`
	DeadlineSeconds float64        `json:"deadlineSeconds"`
	Cluster         map[string]any `json:"cluster"`
	Params          any            `json:"params"`
}

type answer struct {
	APIVersion json.RawMessage `json:"apiVersion"`
	RequestID  json.RawMessage `json:"requestID"`
	Result     json.RawMessage `json:"result"`
	Error      *failure        `json:"error"`
}

type failure struct {
	Code              string  `json:"code"`
	Message           string  `json:"message"`
	RetryAfterSeconds float64 `json:"retryAfterSeconds"`
}

// capabilities are the parts of that answer that upstream's loops have a place for.
type capabilities struct {
	ProviderName string `json:"providerName"`
	Interfaces   struct {
		Instances    bool `json:"instances"`
		LoadBalancer bool `json:"loadBalancer"`
		Routes       bool `json:"routes"`
	} `json:"interfaces"`
	Features struct {
		RouteNodeAddresses bool `json:"routeNodeAddresses"`
	} `json:"features"`
}

// ask makes one call. The result is decoded into the last argument, unless that is nil.
func (p program) ask(verb string, params any, result any) error {
	if params == nil {
		params = struct{}{}
	}
	asked := request{
		apiVersion, verb, fmt.Sprint(time.Now().UnixNano()), deadline.Seconds(),
		map[string]any{"name": "kubernetes"}, params}
	question, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	output, err := p.run(verb, question)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	var said answer
	if err := json.Unmarshal(output, &said); err != nil {
		return fmt.Errorf("%s: the answer is not JSON: %w", verb, err)
	}
	switch {
	case !isOrLeftOut(said.APIVersion, apiVersion), !isOrLeftOut(said.RequestID, asked.RequestID):
		return fmt.Errorf("%s: the answer to another request", verb)
	case (said.Error == nil) == (said.Result == nil):
		return fmt.Errorf("%s: neither or both of result and error", verb)
	case said.Error != nil:
		return said.Error.of(verb)
	case result == nil:
		return nil
	}
	return json.Unmarshal(said.Result, result)
}

// isOrLeftOut says whether a field of an answer repeats that of its question, or is not there.
func isOrLeftOut(field json.RawMessage, wanted string) bool {
	var said string
	return field == nil || (json.Unmarshal(field, &said) == nil && said == wanted)
}

func (p program) run(verb string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	arguments := append(append([]string{}, p.Command[1:]...), verb)
	command := exec.CommandContext(ctx, p.Command[0], arguments...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, p.Env...)
	command.Stdin, command.Stderr = bytes.NewReader(question), os.Stderr
	return command.Output()
}

// of gives the error that upstream's loops know for a code.
func (f *failure) of(verb string) error {
	switch f.Code {
	case "NotImplemented":
		return cloudprovider.NotImplemented
	case "ImplementedElsewhere":
		return cloudprovider.ImplementedElsewhere
	case "Pending":
		return api.NewRetryError(f.Message, time.Duration(f.RetryAfterSeconds*float64(time.Second)))
	}
	return fmt.Errorf("%s: %s: %s", verb, f.Code, f.Message)
}
