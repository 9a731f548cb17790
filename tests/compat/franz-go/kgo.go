// Package compat pins the version of kgo whose own tests run.sh compiles and runs.
package compat

import _ "github.com/twmb/franz-go/pkg/kgo"
