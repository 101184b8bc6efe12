// Says of each object on standard input, one JSON document a line, what cli-utils' kstatus says: status and reason, or
// the error. The tests of releases/health compare their own verdicts with it.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
	Error  string `json:"error"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		if err := out.Encode(judge(in.Bytes())); err != nil {
			panic(err)
		}
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}

func judge(line []byte) verdict {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(line); err != nil {
		return verdict{Error: err.Error()}
	}
	result, err := status.Compute(obj)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	found := verdict{Status: string(result.Status)}
	for _, condition := range result.Conditions {
		found.Reason = condition.Reason
	}
	return found
}
