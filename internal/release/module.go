package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const mainPath = "github.com/redlatch/redlatch"

// dirs are the directories of the modules that are published. The others are for those who work on Redlatch.
var dirs = []string{
	".", "adapters/certmagic", "adapters/cron", "adapters/gocron", "adapters/goose", "adapters/grpc", "cmd/redlatch", "redlatchotel",
}

// unit is one of them, at a version.
type unit struct {
	dir string // seen from the root
	mod []byte // its go.mod
}

func (m unit) path() string { return path.Join(mainPath, m.dir) }

// tag is the one by which Go finds the version in the repository.
func (m unit) tag(version string) string { return strings.TrimPrefix(path.Join(m.dir, version), "./") }

// published are the modules of a version.
func published(root, version string) (all []unit, err error) {
	if version == "" || semver.Canonical(version) != version || semver.Major(version) > "v1" {
		return nil, fmt.Errorf("%q is no version like v0.9.0", version) // from v2 on the paths of the modules would have it too
	}
	for _, dir := range dirs {
		file := filepath.Join(root, dir, "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := unit{dir: dir}
		if m.mod, err = at(file, text, version); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// at is a go.mod that requires that version of our modules, and replaces none. It may replace no other: consumers would
// ignore it.
func at(name string, text []byte, version string) ([]byte, error) {
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range f.Replace {
		if !ours(r.Old.Path) {
			return nil, fmt.Errorf("%s replaces %s", name, r.Old.Path)
		}
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	for _, r := range f.Require {
		if ours(r.Mod.Path) {
			if err := f.AddRequire(r.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	f.Cleanup()
	return f.Format()
}

func ours(modulePath string) bool {
	return modulePath == mainPath || strings.HasPrefix(modulePath, mainPath+"/")
}
