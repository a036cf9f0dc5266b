package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	typed "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned/typed/operators/v1alpha1"
	listersv1 "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1"
	listersv1alpha1 "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/listers/operators/v1alpha1"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/registry/resolver/projection"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/operatorlister"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// lister is the cluster as OLM's informers would show it.
func (p *problem) lister() (operatorlister.OperatorLister, error) {
	catalogSources, groups, csvs, subs := newIndexer(), newIndexer(), newIndexer(), newIndexer()
	for _, c := range p.Catalogs {
		source := &v1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace}}
		source.Spec.Priority = c.Priority
		if err := catalogSources.Add(source); err != nil {
			return nil, err
		}
	}
	for _, i := range p.Installed {
		csv, err := i.csv(p.Namespace)
		if err != nil {
			return nil, fmt.Errorf("installed %s: %w", i.Name, err)
		}
		if err := csvs.Add(csv); err != nil {
			return nil, err
		}
	}
	for _, sub := range p.liveSubscriptions().items {
		if err := subs.Add(&sub); err != nil {
			return nil, err
		}
	}
	if err := groups.Add(p.operatorGroup()); err != nil {
		return nil, err
	}
	lister := operatorlister.NewLister()
	lister.OperatorsV1alpha1().RegisterCatalogSourceLister("", listersv1alpha1.NewCatalogSourceLister(catalogSources))
	lister.OperatorsV1alpha1().RegisterClusterServiceVersionLister("", listersv1alpha1.NewClusterServiceVersionLister(csvs))
	lister.OperatorsV1alpha1().RegisterSubscriptionLister("", listersv1alpha1.NewSubscriptionLister(subs))
	lister.OperatorsV1().RegisterOperatorGroupLister("", listersv1.NewOperatorGroupLister(groups))
	return lister, nil
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func (p *problem) operatorGroup() *operatorsv1.OperatorGroup {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "group", Namespace: p.Namespace}}
	if p.OperatorGroup.ExcludeGlobal {
		group.Annotations = map[string]string{"olm.operatorframework.io/exclude-global-namespace-resolution": "true"}
	}
	if p.OperatorGroup.FailForward {
		group.Spec.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
	}
	return group
}

// csv says what it provides and requires in the annotation that OLM makes. Without a package it is
// one from before that annotation: then APIs are all it can speak about, by way of its CRDs.
func (i installed) csv(namespace string) (*v1alpha1.ClusterServiceVersion, error) {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: i.Name, Namespace: namespace}}
	csv.Spec.Replaces = i.Replaces
	csv.Status.Phase = v1alpha1.ClusterServiceVersionPhase(i.Phase)
	if i.Version != "" {
		parsed, err := semver.ParseTolerant(i.Version)
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", i.Version, err)
		}
		csv.Spec.Version = version.OperatorVersion{Version: parsed}
	}
	if i.Package == "" {
		for _, provided := range i.Provides {
			csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, provided.crd())
		}
		for _, required := range i.Requires {
			if required.API != nil {
				csv.Spec.CustomResourceDefinitions.Required = append(csv.Spec.CustomResourceDefinitions.Required, required.API.crd())
			}
		}
		return csv, nil
	}
	annotation, err := i.annotation()
	csv.Annotations = map[string]string{projection.PropertiesAnnotationKey: annotation}
	return csv, err
}

func (i installed) annotation() (string, error) {
	var own properties
	own.add("olm.package", map[string]string{"packageName": i.Package, "version": i.Version})
	stated, err := i.properties()
	if err != nil {
		return "", err
	}
	return projection.PropertiesAnnotationFromPropertyList(append(own.list, stated...))
}

func (g gvk) crd() v1alpha1.CRDDescription {
	return v1alpha1.CRDDescription{Name: strings.ToLower(g.Kind) + "s." + g.Group, Version: g.Version, Kind: g.Kind}
}

// liveSubscriptions stands for the API server, of which OLM asks one thing: the Subscriptions of the
// namespace. The embedded interfaces are nil; another question would be a panic, which is told.
type liveSubscriptions struct {
	versioned.Interface
	typed.OperatorsV1alpha1Interface
	typed.SubscriptionInterface
	items []v1alpha1.Subscription
}

func (l *liveSubscriptions) OperatorsV1alpha1() typed.OperatorsV1alpha1Interface { return l }
func (l *liveSubscriptions) Subscriptions(string) typed.SubscriptionInterface    { return l }
func (l *liveSubscriptions) List(context.Context, metav1.ListOptions) (*v1alpha1.SubscriptionList, error) {
	return &v1alpha1.SubscriptionList{Items: slices.Clone(l.items)}, nil
}

// liveSubscriptions are in the order in which an API server lists them: by name.
func (p *problem) liveSubscriptions() *liveSubscriptions {
	live := &liveSubscriptions{}
	for _, s := range p.Subscriptions {
		live.items = append(live.items, v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: p.Namespace},
			Spec: &v1alpha1.SubscriptionSpec{
				Package:                s.Package,
				Channel:                s.Channel,
				CatalogSource:          *s.Catalog,
				CatalogSourceNamespace: *s.CatalogNamespace,
				StartingCSV:            s.StartingCSV,
			},
			Status: v1alpha1.SubscriptionStatus{InstalledCSV: s.InstalledCSV, CurrentCSV: s.CurrentCSV},
		})
	}
	slices.SortFunc(live.items, func(a, b v1alpha1.Subscription) int { return strings.Compare(a.Name, b.Name) })
	return live
}
