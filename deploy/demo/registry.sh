# How a cluster gets what is in a registry. CHANDLER_PLAIN_HTTP names registries without TLS, separated by commas,
# CHANDLER_POD_REGISTRY what pods call it where nodes call it something else, and CHANDLER_PULL_SECRET is a file as
# `docker login` writes it, if a password is needed.
# shellcheck shell=bash

# Whether a registry is spoken to without TLS.
is_plain() { case ",${CHANDLER_PLAIN_HTTP:-}," in *",$1,"*) ;; *) return 1 ;; esac; }

# The arguments of `chandler deploy`, one a line, for pods that read from a registry.
run_arguments() {
  local host
  for host in ${CHANDLER_PLAIN_HTTP//,/ }; do echo "--run-argument=--plain-http=$host"; done
  [ -n "${CHANDLER_POD_REGISTRY:-}" ] || return 0
  echo "--run-argument=--mirror=$1=$CHANDLER_POD_REGISTRY"
  if is_plain "$1"; then echo "--run-argument=--plain-http=$CHANDLER_POD_REGISTRY"; fi
}

# Reads manifests, and prints them such that pods and catalogs have the password.
pulls() {
  if [ -z "${CHANDLER_PULL_SECRET:-}" ]; then cat; return; fi
  sed -E 's/^( *)containers:$/\1imagePullSecrets: [{name: registry}]\n&/; s/^( *)sourceType: grpc$/&\n\1secrets: [registry]/'
}
