#!/usr/bin/env bash
# Brings a cluster up, gives it Chandler's API, publishes an operator to its registry, and shows what is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
local=deploy/local/cluster
kubectl() { "$local" kubectl --name demo -- "$@"; }
bold() { if [ -t 1 ]; then printf '\033[1m%s\033[0m\n' "$*"; else printf '%s\n' "$*"; fi; }
step() { echo; bold "$*"; }
# Shows a command of Chandler's as a person would type it, and runs it.
chandler() { echo "\$ chandler $*"; "$binary" "$@"; }

step "A Kubernetes cluster"
"$local" up --name demo
kubectl get nodes

step "Chandler's API"
cargo build --quiet --bin chandler --example stand-in --example pack-image
built=$PWD/${CARGO_TARGET_DIR:-target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}debug
binary=$built/chandler
"$binary" crds | kubectl apply -f -
kubectl wait --for=condition=Established --timeout=30s -f deploy/crds >/dev/null
kubectl api-resources --api-group=operators.coreos.com

# A cluster of one's own has a registry only if its user names one.
registry=$("$local" env --name demo | sed -n "s/^CHANDLER_REGISTRY=//p")
registry=${registry:-${CHANDLER_REGISTRY:-}}
if [ -n "$registry" ]; then
  step "An operator, published to a registry and put into a catalog"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  chandler bundle init gopher --version 0.1.0
  # The operator itself is a stand-in of ours: a small server that answers probes.
  image=$registry/demo/gopher:v0.1.0
  "$built/examples/pack-image" --binary "$built/examples/stand-in" --layout image --push "$image" --plain-http
  sed -i "s|image: registry.example.com/gopher:v0.1.0|image: $image\n                    args: [serve, \"0.0.0.0:8080\"]|" \
    gopher/manifests/*.clusterserviceversion.yaml
  chandler bundle lint gopher
  chandler bundle push gopher "$registry/demo/gopher-bundle:v0.1.0" --plain-http "$registry"
  chandler catalog init gopher --default-channel stable --output-dir catalog
  chandler catalog add catalog "$registry/demo/gopher-bundle:v0.1.0" --channel stable --plain-http "$registry"
  chandler catalog push catalog "$registry/demo/catalog:latest" --plain-http "$registry"
  chandler catalog lint "$registry/demo/catalog:latest" --plain-http "$registry"
  chandler graph gopher --catalog "$registry/demo/catalog:latest" -o mermaid --plain-http "$registry"
  cd - >/dev/null

  step "Chandler looks after the cluster"
  deploy/demo-down.sh quietly
  mkdir -p target/demo
  kubectl create namespace chandler-system --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  # In the background until `make demo-down`; a cluster of one's own would run it as pods (`chandler deploy`).
  echo "\$ chandler run"
  setsid "$binary" run --kubeconfig "$("$local" kubeconfig --name demo)" --plain-http "$registry" \
    --cache-dir target/demo/cache >target/demo/chandler.log 2>&1 </dev/null &
  echo $! >target/demo/pid

  step "A Subscription, as its users write it"
  sed "s|registry.example.com/hub/catalog:latest|$registry/demo/catalog:latest|" deploy/samples/demo.yaml |
    kubectl apply -f -
  kubectl wait subscription/gopher -n chandler-demo --for=condition=Healthy --timeout=120s || true
  kubectl get subscriptions,installplans,clusterserviceversions,operatorgroups,catalogsources -n chandler-demo
  kubectl get deployments,pods -n chandler-demo
  chandler status gopher -n chandler-demo --kubeconfig "$("$local" kubeconfig --name demo)"
else
  step "An operator's wish, as its users write it"
  kubectl apply -f deploy/samples/
  kubectl get subscriptions,operatorgroups,catalogsources -n chandler-demo
fi

step "Look around, and take it down again with: make demo-down"
echo "  export KUBECONFIG=$("$local" kubeconfig --name demo)"
