// Command gotypes prints what Go knows of the built-in kinds and OpenAPI does not say: which fields are pointers, which
// are left out when empty, what their types are called in errors, and which defaults they have. hookrunner's sandbox
// decodes and fills in by it (kubesandbox/builtin/types.py has the format).
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane" // registers the built-in kinds with their defaults
)

type node struct {
	Kind   string  `json:"kind"`
	Go     string  `json:"go"`
	Name   string  `json:"name,omitempty"`
	Elem   *int    `json:"elem,omitempty"`
	Fields []field `json:"fields,omitempty"`
}

type field struct {
	Name string `json:"name"`
	In   string `json:"in,omitempty"`
	Type int    `json:"type"`
	Omit string `json:"omit,omitempty"`
	// Numbers of the field in a protobuf message, those of the embedded structs on the way first.
	Pb []int `json:"pb,omitempty"`
}

type walk struct {
	nodes []*node
	seen  map[reflect.Type]int
}

// special types write themselves to JSON in their own way.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "quantity",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "any",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "intorstring",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "any",
}

func name(t reflect.Type) string {
	path := t.PkgPath()
	for _, prefix := range []string{"k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apiextensions-apiserver/pkg/apis/"} {
		path = strings.TrimPrefix(path, prefix)
	}
	return path + "." + t.Name()
}

func (w *walk) of(t reflect.Type) int {
	if at, ok := w.seen[t]; ok {
		return at
	}
	at := len(w.nodes)
	n := &node{Go: t.String()}
	w.nodes, w.seen[t] = append(w.nodes, n), at
	elem := func() {
		e := w.of(t.Elem())
		n.Elem = &e
	}
	if kind, ok := special[t.PkgPath()+"."+t.Name()]; ok {
		n.Kind = kind
		return at
	}
	switch t.Kind() {
	case reflect.Pointer:
		n.Kind = "pointer"
		elem()
	case reflect.Slice:
		if n.Kind = "slice"; t.Elem().Kind() == reflect.Uint8 {
			n.Kind = "bytes"
			return at
		}
		elem()
	case reflect.Map:
		n.Kind = "map"
		elem()
	case reflect.Struct:
		n.Kind, n.Name = "struct", name(t)
		w.fields(t, n, "", nil)
	default:
		n.Kind = t.Kind().String()
	}
	return at
}

// fields adds the fields of a struct; those of embedded structs say in which.
func (w *walk) fields(t reflect.Type, n *node, in string, pb []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		if f.Anonymous && parts[0] == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			w.fields(inner, n, in+inner.Name()+".", numbers(pb, f))
			continue
		}
		if parts[0] == "-" || !f.IsExported() {
			continue
		}
		omit := ""
		for _, option := range parts[1:] {
			if option == "omitempty" || (option == "omitzero" && omit == "") {
				omit = option
			}
			if option == "omitzero" && omit == "omitempty" {
				omit = "omitzero"
			}
		}
		n.Fields = append(n.Fields, field{parts[0], in, w.of(f.Type), omit, numbers(pb, f)})
	}
}

// numbers is the way to a field in protobuf; nothing for fields that it does not carry (kind, apiVersion).
func numbers(way []int, f reflect.StructField) []int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return nil
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		panic(err)
	}
	return append(append([]int{}, way...), number)
}

func main() {
	apiextensions.Install(legacyscheme.Scheme)
	defaults := newDefaults(legacyscheme.Scheme)
	w := walk{seen: map[reflect.Type]int{}}
	kinds := map[string]int{}
	for _, line := range os.Args[1:] { // group/version/Kind, the group may be empty
		parts := strings.Split(line, "/")
		for gvk, t := range legacyscheme.Scheme.AllKnownTypes() {
			if gvk.Group == parts[0] && gvk.Version == parts[1] && gvk.Kind == parts[2] {
				kinds[line] = w.of(t)
				defaults.visit(t, nil, t, map[reflect.Type]bool{})
			}
		}
		if _, ok := kinds[line]; !ok {
			fmt.Fprintln(os.Stderr, "unknown kind", line)
			os.Exit(1)
		}
	}
	printed := map[string]any{
		"kinds":       kinds,
		"types":       w.nodes,
		"defaults":    defaults.values(),
		"conditional": defaults.conditional,
	}
	if err := json.NewEncoder(os.Stdout).Encode(printed); err != nil {
		panic(err)
	}
}
