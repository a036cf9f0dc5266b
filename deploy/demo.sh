#!/usr/bin/env bash
# Brings a cluster up, gives it Chandler's API, and shows what is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
local=deploy/local/cluster
kubectl() { "$local" kubectl --name demo -- "$@"; }
bold() { if [ -t 1 ]; then printf '\033[1m%s\033[0m\n' "$*"; else printf '%s\n' "$*"; fi; }
step() { echo; bold "$*"; }

step "A Kubernetes cluster"
"$local" up --name demo
kubectl get nodes

step "Chandler's API"
cargo build --quiet --bin chandler
chandler=${CARGO_TARGET_DIR:-target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}debug/chandler
"$chandler" crds | kubectl apply -f -
kubectl wait --for=condition=Established --timeout=30s -f deploy/crds >/dev/null
kubectl api-resources --api-group=operators.coreos.com

step "An operator's wish, as its users write it"
kubectl apply -f deploy/samples/
kubectl get subscriptions,operatorgroups,catalogsources -n chandler-demo

step "Look around, and take it down again with: make demo-down"
echo "  export KUBECONFIG=$("$local" kubeconfig --name demo)"
