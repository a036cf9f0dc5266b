package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/solver"
	"github.com/sirupsen/logrus"
)

// solveOften solves a problem several times, because OLM's answer can depend on the order in which
// Go goes through a map. Answers that differ are all in the outcome.
func solveOften(line []byte, runs int) []byte {
	p, err := readProblem(line)
	if err != nil {
		return failure(err)
	}
	distinct := map[string]struct{}{}
	for range runs {
		distinct[string(solve(p))] = struct{}{}
	}
	return oneOrAll(distinct)
}

func solve(p *problem) []byte {
	answer, err := p.resolve()
	var unsolvable solver.NotSatisfiable
	switch {
	case errors.As(err, &unsolvable):
		return encode(failed{"unsolvable", err.Error()})
	case err != nil:
		return failure(err)
	}
	return encode(answer)
}

// resolve leaves everything to OLM: from the cluster's objects to what an InstallPlan would have.
func (p *problem) resolve() (*solved, error) {
	catalogs, err := p.catalogs()
	if err != nil {
		return nil, err
	}
	lister, err := p.lister()
	if err != nil {
		return nil, err
	}
	// Whether there are global namespaces is for the catalogs to say; OLM only has to ask for one.
	const someGlobalNamespace = ""
	live, log := p.liveSubscriptions(), silent()
	known := resolver.NewOperatorCacheProvider(lister, live, catalogs, log)
	steps, lookups, _, err := resolver.NewOperatorStepResolver(lister, live, someGlobalNamespace, known, log).ResolveSteps(p.Namespace)
	if err != nil {
		return nil, err
	}

	answer := &solved{Outcome: "solved", Install: []install{}, Generated: []string{}}
	for _, lookup := range lookups {
		offer, ok := catalogs.offers[lookup.Path]
		if !ok {
			return nil, fmt.Errorf("OLM installs %s from %q, which no catalog has", lookup.Identifier, lookup.Path)
		}
		answer.Install = append(answer.Install, install{
			Bundle:           offer.bundle,
			Package:          offer.pkg,
			Version:          offer.version,
			Catalog:          offer.catalog.Name,
			CatalogNamespace: offer.catalog.Namespace,
			Channel:          offer.channel,
			Replaces:         p.ifUpgraded(lookup.Replaces),
		})
	}
	for _, step := range steps {
		if step.Resource.Kind == v1alpha1.SubscriptionKind {
			answer.Generated = append(answer.Generated, step.Resource.Name)
		}
	}
	slices.SortFunc(answer.Install, func(a, b install) int { return strings.Compare(a.Bundle, b.Bundle) })
	slices.Sort(answer.Generated)
	return answer, nil
}

// ifUpgraded is the name if it is that of an installed operator that a Subscription has. Else it is
// only what the channel says, and nothing is replaced.
func (p *problem) ifUpgraded(name string) string {
	exists := slices.ContainsFunc(p.Installed, func(i installed) bool { return i.Name == name })
	subscribed := slices.ContainsFunc(p.Subscriptions, func(s subscription) bool { return s.InstalledCSV == name })
	if exists && subscribed {
		return name
	}
	return ""
}

func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.PanicLevel)
	return log
}
