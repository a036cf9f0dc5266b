package main

import (
	"encoding/json"
	"errors"

	"github.com/operator-framework/operator-registry/pkg/api"
)

// properties are the statements in the form in which a registry serves them. The order of what is
// required is kept, because OLM tries to satisfy the requirements in that order.
func (s statements) properties() ([]*api.Property, error) {
	var all properties
	for _, provided := range s.Provides {
		all.add("olm.gvk", provided.value())
	}
	for _, required := range s.Requires {
		switch {
		case required.API != nil:
			all.add("olm.gvk.required", required.API.value())
		case required.Package != nil:
			all.add("olm.package.required", map[string]string{"packageName": *required.Package, "versionRange": required.Range})
		case required.Label != nil:
			all.add("olm.label.required", map[string]string{"label": *required.Label})
		case required.Constraint != nil:
			all.add("olm.constraint", required.Constraint)
		default:
			return nil, errors.New("a requirement names no api, package, label or constraint")
		}
	}
	for _, label := range s.Labels {
		all.add("olm.label", map[string]string{"label": label})
	}
	for _, other := range s.Properties {
		all.add(other.Type, other.Value)
	}
	return all.list, all.err
}

func (g gvk) value() map[string]string {
	return map[string]string{"group": g.Group, "version": g.Version, "kind": g.Kind}
}

// properties collects what is added, and remembers the first error.
type properties struct {
	list []*api.Property
	err  error
}

func (p *properties) add(kind string, value any) {
	text, err := json.Marshal(value)
	if err != nil && p.err == nil {
		p.err = err
	}
	p.list = append(p.list, &api.Property{Type: kind, Value: string(text)})
}
