//go:build tools

// This file keeps kwok, which is built as a binary of its own, in go.mod.
package main

import _ "sigs.k8s.io/kwok/cmd/kwok"
