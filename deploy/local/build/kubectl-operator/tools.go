//go:build tools

// Package tools names the plugin that is tried against Chandler.
package tools

import _ "github.com/operator-framework/kubectl-operator"
