package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/cache"
	"github.com/operator-framework/operator-registry/pkg/api"
)

// catalogs is where OLM gets the content of CatalogSources from.
type catalogs struct {
	namespace string
	global    []string
	sources   map[cache.SourceKey]cache.Source
	// offers is every bundle in every channel by the path that its entry got. The path is the only
	// thing that OLM hands through to the end as it is.
	offers map[string]offer
}

type offer struct {
	bundle, pkg, version, channel string
	catalog                       cache.SourceKey
}

type brokenCatalog struct{ error }

func (b brokenCatalog) Snapshot(context.Context) (*cache.Snapshot, error) { return nil, b.error }

// Sources are the catalogs of the namespace and, unless OLM asks for that namespace alone, those of
// the global namespaces. OLM knows one of these only; here there may be several.
func (c *catalogs) Sources(namespaces ...string) map[cache.SourceKey]cache.Source {
	visible := map[cache.SourceKey]cache.Source{}
	for key, source := range c.sources {
		global := len(namespaces) > 1 && slices.Contains(c.global, key.Namespace)
		if global || key.Namespace == c.namespace {
			visible[key] = source
		}
	}
	return visible
}

func (p *problem) catalogs() (*catalogs, error) {
	all := &catalogs{
		namespace: p.Namespace,
		global:    p.GlobalNamespaces,
		sources:   map[cache.SourceKey]cache.Source{},
		offers:    map[string]offer{},
	}
	for _, c := range p.Catalogs {
		key := cache.SourceKey{Name: c.Name, Namespace: c.Namespace}
		if c.Problem != "" {
			all.sources[key] = brokenCatalog{errors.New(c.Problem)}
			continue
		}
		snapshot := &cache.Snapshot{}
		for _, p := range c.Packages {
			entries, err := all.entries(key, p)
			if err != nil {
				return nil, fmt.Errorf("catalog %s: package %s: %w", c.Name, p.Name, err)
			}
			snapshot.Entries = append(snapshot.Entries, entries...)
		}
		all.sources[key] = snapshot
	}
	return all, nil
}

// entries has one item for each bundle in each channel, as a registry lists them.
func (c *catalogs) entries(key cache.SourceKey, p pkg) ([]*cache.Entry, error) {
	bundles := map[string]bundle{}
	for _, b := range p.Bundles {
		bundles[b.Name] = b
	}
	var entries []*cache.Entry
	for _, ch := range p.Channels {
		for _, e := range ch.Entries {
			b, ok := bundles[e.Name]
			if !ok {
				return nil, fmt.Errorf("channel %s has the entry %s, but there is no such bundle", ch.Name, e.Name)
			}
			made, err := newEntry(e, b)
			if err != nil {
				return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
			}
			made.SourceInfo = &cache.OperatorSourceInfo{
				Package:        p.Name,
				Channel:        ch.Name,
				Catalog:        key,
				DefaultChannel: ch.Name == p.DefaultChannel,
			}
			resolver.EnsurePackageProperty(made, p.Name, b.Version)
			made.BundlePath = strings.Join([]string{key.Namespace, key.Name, p.Name, ch.Name, b.Name}, "/")
			c.offers[made.BundlePath] = offer{b.Name, p.Name, b.Version, ch.Name, key}
			entries = append(entries, made)
		}
	}
	return entries, nil
}

// newEntry forgives what OLM forgives: a version or a skipRange that cannot be read is none.
func newEntry(e entry, b bundle) (*cache.Entry, error) {
	properties, err := b.properties()
	if err != nil {
		return nil, err
	}
	if b.Deprecated {
		properties = append(properties, &api.Property{Type: "olm.deprecated", Value: "{}"})
	}
	made := &cache.Entry{Name: b.Name, Replaces: e.Replaces, Skips: e.Skips, Properties: properties}
	if version, err := semver.ParseTolerant(b.Version); err == nil {
		made.Version = &version
	}
	if skipped, err := semver.ParseRange(e.SkipRange); err == nil {
		made.SkipRange = skipped
	}
	return made, nil
}
