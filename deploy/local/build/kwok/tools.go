//go:build tools

// Package tools names the command that simulates nodes.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
