package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// problem is what a resolver scenario says before it says what to expect. Fields that OLM has no
// notion of are not named here, and so are not read.
type problem struct {
	Namespace        string         `json:"namespace"`
	GlobalNamespaces []string       `json:"globalNamespaces"`
	OperatorGroup    operatorGroup  `json:"operatorGroup"`
	Catalogs         []catalog      `json:"catalogs"`
	Installed        []installed    `json:"installed"`
	Subscriptions    []subscription `json:"subscriptions"`
}

type operatorGroup struct {
	FailForward   bool `json:"failForward"`
	ExcludeGlobal bool `json:"excludeGlobal"`
}

type catalog struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Priority  int    `json:"priority"`
	Problem   string `json:"problem"`
	Packages  []pkg  `json:"packages"`
}

type pkg struct {
	Name           string    `json:"name"`
	DefaultChannel string    `json:"defaultChannel"`
	Channels       []channel `json:"channels"`
	Bundles        []bundle  `json:"bundles"`
}

type channel struct {
	Name    string  `json:"name"`
	Entries []entry `json:"entries"`
}

type entry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces"`
	Skips     []string `json:"skips"`
	SkipRange string   `json:"skipRange"`
}

type bundle struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Deprecated bool   `json:"deprecated"`
	statements
}

type installed struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Replaces string `json:"replaces"`
	Phase    string `json:"phase"`
	statements
}

// statements is what a bundle says about itself, and so what an installed operator says too.
type statements struct {
	Provides   []gvk         `json:"provides"`
	Requires   []requirement `json:"requires"`
	Labels     []string      `json:"labels"`
	Properties []property    `json:"properties"`
}

type requirement struct {
	API        *gvk            `json:"api"`
	Package    *string         `json:"package"`
	Range      string          `json:"range"`
	Label      *string         `json:"label"`
	Constraint json.RawMessage `json:"constraint"`
}

type property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// subscription leaves apart a catalog that is not said, which has a default, and one that is empty,
// which is how OLM is told to look into every catalog.
type subscription struct {
	Name             string  `json:"name"`
	Package          string  `json:"package"`
	Channel          string  `json:"channel"`
	Catalog          *string `json:"catalog"`
	CatalogNamespace *string `json:"catalogNamespace"`
	StartingCSV      string  `json:"startingCSV"`
	InstalledCSV     string  `json:"installedCSV"`
	CurrentCSV       string  `json:"currentCSV"`
}

// gvk is written as group/version/Kind.
type gvk struct{ Group, Version, Kind string }

func (g *gvk) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "/")
	if len(parts) != 3 {
		return fmt.Errorf("%q is not group/version/Kind", text)
	}
	g.Group, g.Version, g.Kind = parts[0], parts[1], parts[2]
	return nil
}

const defaultCatalogNamespace = "olm"

func readProblem(line []byte) (*problem, error) {
	p := &problem{}
	if err := json.Unmarshal(line, p); err != nil {
		return nil, fmt.Errorf("reading the problem: %w", err)
	}
	p.fillIn()
	return p, nil
}

func (p *problem) fillIn() {
	p.Namespace = orElse(p.Namespace, "operators")
	if p.GlobalNamespaces == nil {
		p.GlobalNamespaces = []string{defaultCatalogNamespace}
	}
	for i := range p.Catalogs {
		p.Catalogs[i].Namespace = orElse(p.Catalogs[i].Namespace, defaultCatalogNamespace)
	}
	for i := range p.Installed {
		p.Installed[i].Phase = orElse(p.Installed[i].Phase, "Succeeded")
	}
	for i := range p.Subscriptions {
		sub := &p.Subscriptions[i]
		sub.Package = orElse(sub.Package, sub.Name)
		sub.CurrentCSV = orElse(sub.CurrentCSV, sub.InstalledCSV)
		if sub.Catalog == nil {
			sub.Catalog = new(string)
			if len(p.Catalogs) > 0 {
				*sub.Catalog = p.Catalogs[0].Name
			}
		}
		if sub.CatalogNamespace == nil {
			namespace := p.namespaceOf(*sub.Catalog)
			sub.CatalogNamespace = &namespace
		}
	}
}

func (p *problem) namespaceOf(catalogName string) string {
	if catalogName == "" {
		return ""
	}
	named := func(c catalog) bool { return c.Name == catalogName }
	if i := slices.IndexFunc(p.Catalogs, named); i >= 0 {
		return p.Catalogs[i].Namespace
	}
	return defaultCatalogNamespace
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
