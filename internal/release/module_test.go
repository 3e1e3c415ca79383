package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// private are the directories of nested modules that nobody imports from outside.
var private = []string{"benchmarks", "examples/", "internal/", "redlatchotel/grafana", "redlatchui/browsertests"}

// Each nested module is published, or private.
func TestEveryModuleIsKnown(t *testing.T) {
	tree := copied(t)
	err := filepath.WalkDir(tree, func(file string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(file) != "go.mod" {
			return err
		}
		dir, err := filepath.Rel(tree, filepath.Dir(file))
		if err != nil {
			return err
		}
		hidden := slices.ContainsFunc(private, func(p string) bool { return strings.HasPrefix(dir+"/", strings.TrimSuffix(p, "/")+"/") })
		if slices.Contains(dirs, dir) == hidden {
			t.Errorf("%s is to be published, or private", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAt(t *testing.T) {
	const before = `module github.com/redlatch/redlatch/adapters/x

go 1.26.0

replace github.com/redlatch/redlatch => ../..

require (
	example.com/x v1.2.3
	github.com/redlatch/redlatch v0.0.0-00010101000000-000000000000
)
`
	const after = `module github.com/redlatch/redlatch/adapters/x

go 1.26.0

require (
	example.com/x v1.2.3
	github.com/redlatch/redlatch v0.9.0
)
`
	if got, err := at("go.mod", []byte(before), "v0.9.0"); err != nil || string(got) != after {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := at("go.mod", []byte(strings.Replace(before, "redlatch =>", "other =>", 1)), "v0.9.0"); err == nil {
		t.Error("a replace of another module would be ignored")
	}
	for _, bad := range []string{"", "0.9.0", "v0.9", "v2.0.0"} {
		if _, err := published("../..", bad); err == nil {
			t.Errorf("%q is taken for a version", bad)
		}
	}
	if tag := (unit{dir: "cmd/redlatch"}).tag("v0.9.0"); tag != "cmd/redlatch/v0.9.0" {
		t.Error(tag)
	}
	if tag := (unit{dir: "."}).tag("v0.9.0"); tag != "v0.9.0" {
		t.Error(tag)
	}
}
