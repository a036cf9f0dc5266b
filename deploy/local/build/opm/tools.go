//go:build tools

// Package tools names the command that catalogs are compared with.
package tools

import _ "github.com/operator-framework/operator-registry/cmd/opm"
