package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// known is a problem of which OLM's own tests say the result.
type known struct {
	problem string
	// install is "bundle channel catalog", and " replaces bundle" where one is replaced.
	install   []string
	generated []string
	// fails is the outcome when it is not "solved", and says what its message contains.
	fails, says string
}

func (k known) check(t *testing.T) {
	t.Helper()
	line, err := yaml.YAMLToJSON([]byte(k.problem))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		solved
		Message string `json:"message"`
	}
	answered := solveOften(line, 20)
	if err := json.Unmarshal(answered, &got); err != nil {
		t.Fatal(err)
	}
	if k.fails != "" {
		if got.Outcome != k.fails || !strings.Contains(got.Message, k.says) {
			t.Errorf("want %s with %q, got %s", k.fails, k.says, answered)
		}
		return
	}
	var install []string
	for _, i := range got.Install {
		text := fmt.Sprintf("%s %s %s", i.Bundle, i.Channel, i.Catalog)
		if i.Replaces != "" {
			text += " replaces " + i.Replaces
		}
		install = append(install, text)
	}
	if got.Outcome != "solved" || !slices.Equal(install, k.install) || !slices.Equal(got.Generated, k.generated) {
		t.Errorf("want %q and %q, got %s", k.install, k.generated, answered)
	}
}

const onlyB = `
    packages:
      - { name: b, defaultChannel: beta, channels: [{ name: beta, entries: [{ name: b.v1 }] }],
          bundles: [{ name: b.v1, version: 1.0.0, provides: [g/v/K] }] }
`

const needsK = `
      - { name: a, defaultChannel: alpha, channels: [{ name: alpha, entries: [{ name: a.v1 }] }],
          bundles: [{ name: a.v1, version: 1.0.0, requires: [{ api: g/v/K }] }] }
`

func TestTheCatalogOfHigherPriorityGivesTheDependency(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: a }]\ncatalogs:\n" +
			"  - name: community\n    packages:" + needsK +
			"  - name: apples" + onlyB + "  - name: bananas\n    priority: 100" + onlyB,
		install:   []string{"a.v1 alpha community", "b.v1 beta bananas"},
		generated: []string{"b-beta-bananas-olm"},
	}.check(t)
}

func TestAmongCatalogsOfOnePriorityTheNameDecides(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: a }]\ncatalogs:\n" +
			"  - name: community\n    packages:" + needsK + "  - name: bananas" + onlyB + "  - name: apples" + onlyB,
		install:   []string{"a.v1 alpha community", "b.v1 beta apples"},
		generated: []string{"b-beta-apples-olm"},
	}.check(t)
}

func TestTheParentsCatalogBeatsPriority(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: a, catalog: community }]\ncatalogs:\n" +
			"  - name: apples\n    priority: 100" + onlyB + "  - name: community" + onlyB + needsK[1:],
		install:   []string{"a.v1 alpha community", "b.v1 beta community"},
		generated: []string{"b-beta-community-olm"},
	}.check(t)
}

const fourVersions = `
catalogs:
  - name: community
    packages:
      - name: a
        defaultChannel: alpha
        channels:
          - name: alpha
            entries:
              - { name: a.v4, replaces: a.v3, skipRange: "< 1.0.0 !0.0.0" }
              - { name: a.v3, replaces: a.v2, skipRange: "< 1.0.0" }
              - { name: a.v2, replaces: a.v1 }
              - { name: a.v1 }
        bundles:
          - { name: a.v1, version: 0.0.0 }
          - { name: a.v2, version: 0.1.0 }
          - { name: a.v3, version: 1.0.0 }
          - { name: a.v4, version: 1.1.0 }
`

func TestASkipRangeIsUsedWhereTheChannelsHeadHasAnother(t *testing.T) {
	known{
		problem: fourVersions + `
installed: [{ name: a.v1, version: 0.0.0, package: a }]
subscriptions: [{ name: a, channel: alpha, installedCSV: a.v1 }]`,
		install: []string{"a.v3 alpha community replaces a.v1"},
	}.check(t)
}

func TestWhatIsUpToDateIsNotInstalledAgain(t *testing.T) {
	known{
		problem: fourVersions + `
installed: [{ name: a.v4, version: 1.1.0, package: a }]
subscriptions: [{ name: a, channel: alpha, installedCSV: a.v4 }]`,
	}.check(t)
}

func TestAReplacedBundleThatIsNotInstalledIsNotNamed(t *testing.T) {
	known{
		problem: fourVersions + "subscriptions: [{ name: a }]",
		install: []string{"a.v4 alpha community"},
	}.check(t)
}

func TestAnOperatorWithoutSubscriptionSatisfiesADependency(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: a }]\ninstalled: [{ name: other, version: 1.0.0, provides: [g/v/K] }]\n" +
			"catalogs:\n  - name: community" + onlyB + needsK[1:],
		install: []string{"a.v1 alpha community"},
	}.check(t)
}

func TestAnOperatorWithoutSubscriptionIsInTheWayOfAnotherProvider(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: b }]\ninstalled: [{ name: other, version: 1.0.0, provides: [g/v/K] }]\n" +
			"catalogs:\n  - name: community" + onlyB,
		fails: "unsolvable",
		says:  "clusterserviceversion other exists and is not referenced by a subscription",
	}.check(t)
}

func TestTwoChainsInAChannelAreAnError(t *testing.T) {
	known{
		problem: `
subscriptions: [{ name: a, channel: alpha }]
catalogs:
  - name: community
    packages:
      - name: a
        defaultChannel: alpha
        channels: [{ name: alpha, entries: [{ name: a.side.v2, replaces: a.side.v1 }, { name: a.side.v1 }, { name: a.v2, replaces: a.v1 }, { name: a.v1 }] }]
        bundles: [{ name: a.v1 }, { name: a.v2 }, { name: a.side.v1 }, { name: a.side.v2 }]`,
		fails: "error",
		says:  `2 replacement chains were found in channel "alpha" of package "a": a.side.v2...a.side.v1, a.v2...a.v1`,
	}.check(t)
}

func TestAMissingDependencyIsUnsolvable(t *testing.T) {
	known{
		problem: "subscriptions: [{ name: a }]\ncatalogs:\n  - name: community\n    packages:" + needsK,
		fails:   "unsolvable",
		says:    "constraints not satisfiable: bundle a.v1 requires an operator providing an API with group: g, version: v, kind: K",
	}.check(t)
}

func TestOneBrokenCatalogIsAnErrorForAll(t *testing.T) {
	known{
		problem: fourVersions + "  - { name: broken, problem: connection refused }\nsubscriptions: [{ name: a }]",
		fails:   "error",
		says:    "error using catalogsource olm/broken: connection refused",
	}.check(t)
}

func TestGlobalCatalogsCanBeExcluded(t *testing.T) {
	known{
		problem: fourVersions + "subscriptions: [{ name: a }]\noperatorGroup: { excludeGlobal: true }",
		fails:   "unsolvable",
		says:    "no operators found from catalog community in namespace olm referenced by subscription a",
	}.check(t)
}

const failedUpgrade = fourVersions + `
installed:
  - { name: a.v2, version: 0.1.0, package: a, phase: Replacing }
  - { name: a.v3, version: 1.0.0, package: a, phase: Failed, replaces: a.v2 }
subscriptions: [{ name: a, installedCSV: a.v3 }]
`

func TestAFailedUpgradeIsInTheWay(t *testing.T) {
	known{problem: failedUpgrade, fails: "unsolvable", says: "clusterserviceversion a.v2 exists"}.check(t)
}

func TestAFailedUpgradeIsLeftBehindWhenFailingForward(t *testing.T) {
	known{
		problem: failedUpgrade + "operatorGroup: { failForward: true }",
		install: []string{"a.v4 alpha community replaces a.v3"},
	}.check(t)
}

func TestAllOfCompoundConstraintsHoldForOneBundle(t *testing.T) {
	known{
		problem: `
subscriptions: [{ name: a }]
catalogs:
  - name: community
    packages:
      - name: a
        channels: [{ name: alpha, entries: [{ name: a.v1 }] }]
        bundles: [{ name: a.v1, requires: [{ constraint: { all: { constraints: [{ package: { packageName: foo, versionRange: ">=1.0.0" } }, { gvk: { group: g1, version: v1, kind: K1 } }] } } }] }]
      - name: foo
        channels: [{ name: stable, entries: [{ name: foo.v2, replaces: foo.v1 }, { name: foo.v1 }] }]
        bundles: [{ name: foo.v1, version: 1.0.0, provides: [g1/v1/K1] }, { name: foo.v2, version: 2.0.0 }]`,
		install:   []string{"a.v1 alpha community", "foo.v1 stable community"},
		generated: []string{"foo-stable-community-olm"},
	}.check(t)
}

func TestARequirementOfNothingIsAnError(t *testing.T) {
	known{
		problem: strings.Replace("subscriptions: [{ name: a }]\ncatalogs:\n  - name: community\n    packages:"+needsK, "api: g/v/K", "apis: g/v/K", 1),
		fails:   "error",
		says:    "bundle a.v1: a requirement names no api, package, label or constraint",
	}.check(t)
}
