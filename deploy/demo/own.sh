# A cluster of the user's own: what may be done to it. Whatever the demo makes there has a label, nothing is made where
# something is already, and only what has the label is taken away.
# shellcheck shell=bash

mark=chandler.demo
# What is installed, with what that needs.
packages=(gopher harbor-operator cert-manager redis-operator postgres-operator minio-operator)
columns='custom-columns=GROUP:.spec.group,KIND:.kind,NAME:.metadata.name,MARK:.metadata.labels.chandler\.demo'

# Reads manifests and prints them with the label.
marked() (
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cat >"$folder/all.yaml"
  printf '{"resources": ["all.yaml"], "labels": [{"pairs": {"%s": "true"}}]}' "$mark" >"$folder/kustomization.yaml"
  kubectl kustomize "$folder"
)

# Makes a namespace, with the password of the registry in it if there is one.
makes_namespace() {
  kubectl create namespace "$1" --dry-run=client -o yaml | marked | kubectl create -f - >/dev/null
  [ -z "${CHANDLER_PULL_SECRET:-}" ] || kubectl create secret generic registry -n "$1" >/dev/null \
    --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$CHANDLER_PULL_SECRET"
}

# Writes down how the cluster is reached, from whatever folder.
remembers() {
  local file files=()
  IFS=: read -ra files <<<"$KUBECONFIG"
  for file in "${!files[@]}"; do
    case ${files[$file]} in /* | '') ;; *) files[file]=$PWD/${files[$file]} ;; esac
  done
  KUBECONFIG=$(IFS=:; echo "${files[*]}")
  mkdir -p "$state"
  printf '%s=%q\n' KUBECONFIG "$KUBECONFIG" CHANDLER_KUBECTL "$CHANDLER_KUBECTL" >"$record"
}

recalls() {
  # shellcheck disable=SC1090 # written by `remembers`
  . "$record"
  # The one that was used may have been deleted.
  [ -x "$CHANDLER_KUBECTL" ] || eval "$("$local" env --kubeconfig "$KUBECONFIG")"
}

# Whether the demo that was written down is still there; ends with more than 1 if that cannot be told.
is_elsewhere() (
  recalls
  export KUBECONFIG
  is_there && is_here
)

# Whether a cluster answers: the one of KUBECONFIG. One that is gone says so at once; one that is only busy is asked again.
is_there() {
  local said deadline=$((SECONDS + 60))
  until said=$(kubectl version --request-timeout=30s 2>&1 >/dev/null); do
    case $said in *timeout* | *'timed out'* | *'deadline exceeded'*) ;; *) return 1 ;; esac
    [ "$SECONDS" -lt "$deadline" ] || return 1
    say "the cluster of $KUBECONFIG takes its time, and is asked again"
    sleep 1
  done
}

# All that is there of what the demo makes itself.
ours() {
  kubectl get --ignore-not-found --no-headers -o "$columns" \
    -f deploy/base/namespace.yaml -f deploy/base/rbac.yaml -f deploy/base/admission.yaml -f deploy/crds &&
    kubectl get --ignore-not-found --no-headers -o "$columns" namespace "$fleet" "$gophers"
}
# And of what Chandler makes for it: APIs are there once for a whole cluster.
theirs() {
  local groups
  groups=$(for package in "${packages[@]}"; do sed -n 's/^  group: //p' "bundles/$package"/*/manifests/*.yaml; done | sort -u)
  kubectl get --no-headers -o "$columns" customresourcedefinitions |
    awk -v groups="$groups operators.coreos.com" 'BEGIN { split(groups, all); for (i in all) known[all[i]] } $1 in known'
  kubectl get --ignore-not-found --no-headers -o "$columns" apiservice v1.packages.operators.coreos.com
}
# Whether a demo is here, or a part of one.
is_here() {
  local found
  found=$(ours) || silent
  awk '$4 == "true" { found = 1 } END { exit !found }' <<<"$found"
}
# No answer is not the answer that there is nothing.
silent() { fail "the cluster of $KUBECONFIG does not say what is in it" "try the same again when it answers"; }

# Ends the script, in words, if the demo would be in somebody's way.
stands_aside() {
  local found
  if is_here; then
    fail "a demo is in your cluster already" "\`make demo-down\` takes it down"
  fi
  found=$({ ours; theirs; } | awk '!seen[$2, $3]++ { print "  " $2 " " $3 }')
  [ -z "$found" ] || fail "your cluster has what the demo would make, and the demo must not be in its way:
$found" "use a cluster without these; nothing was changed in this one"
}

# Takes away what the demo made. While Chandler runs: it knows what belongs to an operator.
leaves() {
  local package kinds
  if ! is_here; then
    say "nothing of the demo is in the cluster of $KUBECONFIG"
    return
  fi
  say "removing what the demo made in the cluster of $KUBECONFIG"
  if has_namespace "$gophers"; then deletes namespaces --field-selector "metadata.name=$gophers"; fi
  if has_namespace "$fleet"; then
    uninstalls gopher gopher
    # All that is left was installed for this one.
    uninstalls harbor-operator "${packages[@]}"
    for package in "${packages[@]}"; do forgets "$package"; done
    deletes namespaces --field-selector "metadata.name=$fleet"
  fi
  deletes customresourcedefinitions
  deletes rolebindings -n kube-system
  for kinds in validatingadmissionpolicybindings validatingadmissionpolicies clusterrolebindings clusterroles; do deletes "$kinds"; done
  # It goes with its owner, a little later; until then nobody gets a whole list of APIs, and so no namespace goes away.
  await "the API of packages is unregistered" is_unregistered
  deletes namespaces
}

# Whether nothing leads to the API of packages, or only to somebody else's.
is_unregistered() {
  local owners
  owners=$(kubectl get apiservice v1.packages.operators.coreos.com --ignore-not-found \
    -o 'jsonpath={.metadata.ownerReferences[*].name}') || return 1
  case " $owners " in *' system:controller:chandler '*) return 1 ;; esac
}

# Whether there is something: exists KIND [ARGUMENT...]
exists() {
  local found
  found=$(kubectl get "$@" --ignore-not-found -o name) || silent
  [ -n "$found" ]
}
has_namespace() { exists namespaces --selector "$mark" --field-selector "metadata.name=$1"; }

# Deletes objects of a kind that have the label: deletes KIND [ARGUMENT...]
deletes() {
  local kind=$1
  shift
  kubectl delete "$kind" "$@" --selector "$mark" --wait --timeout="${patience}s" >/dev/null ||
    fail "$kind of the demo do not go away" "look at what they wait for, then \`make demo-down\` again"
}

# Has Chandler remove an operator with all that it and others brought, if it was asked for: uninstalls OPERATOR PACKAGE...
# CRDs that have objects go by name only; here they are the demo's.
uninstalls() {
  local said crds package
  exists customresourcedefinition subscriptions.operators.coreos.com || return 0
  exists subscription "$1" -n "$fleet" || return 0
  [ -x "$built/chandler" ] || builds
  say "uninstalling $1"
  crds=$(for package in "${@:2}"; do apis "$package"; done | sort -u | paste -sd,)
  said=$(chandler uninstall "$1" -n "$fleet" --everything ${crds:+--delete-crds "$crds"} --yes 2>&1) ||
    fail "$1 is not removed: $said" "\`make demo-down\` tries again"
}

# The APIs that Chandler installed for a package. One that was there before is not Chandler's.
apis() {
  kubectl get customresourcedefinitions --selector "operators.coreos.com/$1.$fleet" --no-headers \
    -o 'custom-columns=NAME:.metadata.name,FOUND:.metadata.annotations.chandler\.found' |
    awk '$2 != "true" { print $1 }'
}

# Deletes the APIs of an operator of which nothing else is left.
forgets() {
  local name
  apis "$1" |
    while read -r name; do
      kubectl delete customresourcedefinition "$name" --wait --timeout="${patience}s" >/dev/null ||
        fail "CustomResourceDefinition $name does not go away" "look at what it waits for, then \`make demo-down\` again"
    done
}
