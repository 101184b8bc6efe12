package main

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// defaults finds, by Go type and field, the values that Kubernetes always fills in, whatever the rest of the object
// says. It builds an object down to each struct that a kind has, once with nothing else set and once for each other
// field of the structs on the way with that field set, and looks at what Scheme.Default makes of it. A field that gets
// the same value everywhere is one of `values`. One that gets another value, or none, as soon as something else is set,
// or in another place, is `conditional`: the sandbox has a rule in Python for it (kubesandbox/builtin/defaults).
type defaults struct {
	scheme      *runtime.Scheme
	seen        map[string]map[string]string
	conditional map[string]map[string]bool
}

func newDefaults(scheme *runtime.Scheme) *defaults {
	return &defaults{scheme, map[string]map[string]string{}, map[string]map[string]bool{}}
}

// values are those that do not depend on anything.
func (d *defaults) values() map[string]map[string]json.RawMessage {
	result := map[string]map[string]json.RawMessage{}
	for typ, fields := range d.seen {
		for field, value := range fields {
			if value == "" || d.conditional[typ][field] {
				continue
			}
			if result[typ] == nil {
				result[typ] = map[string]json.RawMessage{}
			}
			result[typ][field] = json.RawMessage(value)
		}
	}
	return result
}

// place is a struct inside an object: the fields that lead to it. Slices have one element.
type place []member

// member is a field of a struct, those of embedded structs as its own.
type member struct {
	name  string
	index []int
	typ   reflect.Type
}

func members(t reflect.Type) []member {
	var found []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range members(f.Type) {
				found = append(found, member{inner.name, append([]int{i}, inner.index...), inner.typ})
			}
		case name != "-" && name != "" && f.IsExported():
			found = append(found, member{name, f.Index, f.Type})
		}
	}
	return found
}

// visit looks at the struct at a place of a kind, and at those below it.
func (d *defaults) visit(root reflect.Type, at place, t reflect.Type, above map[reflect.Type]bool) {
	d.learn(root, at, t)
	above[t] = true
	for _, m := range members(t) {
		if inner, ok := structOf(m.typ); ok && !above[inner] {
			d.visit(root, append(at[:len(at):len(at)], m), inner, above)
		}
	}
	delete(above, t)
}

// structOf is the struct that a field holds, points to or lists; not those that write themselves to JSON.
func structOf(t reflect.Type) (reflect.Type, bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	_, own := special[t.PkgPath()+"."+t.Name()]
	return t, t.Kind() == reflect.Struct && !own
}

// learn notes what one struct is given at one place.
func (d *defaults) learn(root reflect.Type, at place, t reflect.Type) {
	alone, ok := d.filled(root, at, -1, member{})
	if !ok {
		return
	}
	for _, m := range members(t) {
		d.note(name(t), m.name, alone[m.name])
	}
	for depth := 0; len(alone) > 0 && depth <= len(at); depth++ {
		for _, m := range members(typeAt(root, at[:depth])) {
			if depth < len(at) && m.name == at[depth].name {
				continue
			}
			beside, ok := d.filled(root, at, depth, m)
			for field, value := range alone {
				if own := depth == len(at) && m.name == field; !own && (!ok || beside[field] != value) {
					d.doubt(name(t), field)
				}
			}
		}
	}
}

// note keeps what a field is given at one place, "" for nothing.
func (d *defaults) note(typ, field, value string) {
	if d.seen[typ] == nil {
		d.seen[typ] = map[string]string{}
	}
	if known, ok := d.seen[typ][field]; ok && known != value {
		d.doubt(typ, field)
	}
	d.seen[typ][field] = value
}

func (d *defaults) doubt(typ, field string) {
	if d.conditional[typ] == nil {
		d.conditional[typ] = map[string]bool{}
	}
	d.conditional[typ][field] = true
}

// filled is what Default fills in at a place, as JSON by field, while a field of the struct at a depth of the way is
// set (-1: none is); false if the struct is no longer there afterwards.
func (d *defaults) filled(root reflect.Type, at place, depth int, set member) (map[string]string, bool) {
	object := reflect.New(root)
	target := object.Elem()
	for i := 0; ; i++ {
		if i == depth {
			target.FieldByIndex(set.index).Set(sample(set.typ, 2))
		}
		if i == len(at) {
			break
		}
		target = allocate(target.FieldByIndex(at[i].index))
	}
	d.scheme.Default(object.Interface().(runtime.Object))
	target, ok := find(object.Elem(), at)
	if !ok {
		return nil, false
	}
	result := map[string]string{}
	for _, m := range members(target.Type()) {
		if value := target.FieldByIndex(m.index); given(value) {
			text, err := json.Marshal(value.Interface())
			if err != nil {
				panic(err)
			}
			result[m.name] = string(text)
		}
	}
	return result, true
}

// given tells whether a value says anything; a struct does if one of its fields does.
func given(value reflect.Value) bool {
	if value.Kind() == reflect.Slice || value.Kind() == reflect.Map {
		return value.Len() > 0
	}
	return value.Kind() != reflect.Struct && !value.IsZero()
}

// allocate makes the struct behind a field, and returns it.
func allocate(value reflect.Value) reflect.Value {
	for value.Kind() != reflect.Struct {
		if value.Kind() == reflect.Pointer {
			value.Set(reflect.New(value.Type().Elem()))
			value = value.Elem()
		} else {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			value = value.Index(0)
		}
	}
	return value
}

// find is the struct at a place; false if it is not there.
func find(value reflect.Value, at place) (reflect.Value, bool) {
	for _, m := range at {
		value = value.FieldByIndex(m.index)
		for value.Kind() != reflect.Struct {
			switch {
			case value.Kind() == reflect.Pointer && !value.IsNil():
				value = value.Elem()
			case value.Kind() == reflect.Slice && value.Len() > 0:
				value = value.Index(0)
			default:
				return value, false
			}
		}
	}
	return value, true
}

func typeAt(root reflect.Type, at place) reflect.Type {
	if len(at) > 0 {
		root, _ = structOf(at[len(at)-1].typ)
	}
	return root
}

// sample is a value of a type that is not its zero value; structs have all their fields down to a depth.
func sample(t reflect.Type, depth int) reflect.Value {
	value := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return reflect.ValueOf(resource.MustParse("7"))
	case reflect.TypeFor[intstr.IntOrString]():
		return reflect.ValueOf(intstr.FromInt32(7))
	}
	switch t.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(7)
	case reflect.Pointer:
		value.Set(reflect.New(t.Elem()))
		value.Elem().Set(sample(t.Elem(), depth))
	case reflect.Slice:
		value = reflect.Append(value, sample(t.Elem(), depth))
	case reflect.Map:
		value.Set(reflect.MakeMap(t))
		value.SetMapIndex(sample(t.Key(), depth), sample(t.Elem(), depth))
	case reflect.Struct:
		if _, own := special[t.PkgPath()+"."+t.Name()]; own || depth == 0 {
			return value
		}
		for _, m := range members(t) {
			value.FieldByIndex(m.index).Set(sample(m.typ, depth-1))
		}
	}
	return value
}
