//go:build mutants

package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
)

// testFile is what one file of a package's tests declares and mentions.
type testFile struct {
	declares map[string]bool // functions, types, variables, constants
	methods  map[string]bool // types that it has methods of
	mentions map[string]bool // identifiers of whatever kind
}

// notNeeded returns the files of a package's tests that some of them can be built without.
// It goes by names alone, so it rather keeps a file too many: those that declare what a
// file that is kept mentions, and those with methods of the types declared in such.
func notNeeded(dir string, tests []string) (idle []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	files := make(map[string]testFile)
	for _, path := range paths {
		if files[filepath.Base(path)], err = read(path); err != nil {
			return nil, err
		}
	}
	wanted := map[string]bool{"TestMain": true, "init": true}
	for _, test := range tests {
		wanted[test] = true
	}
	types := make(map[string]bool)
	for again := true; again; {
		again = false
		for name, f := range files {
			if !common(f.declares, wanted) && !common(f.methods, types) {
				continue
			}
			delete(files, name)
			maps.Copy(wanted, f.mentions)
			maps.Copy(types, f.declares)
			again = true
		}
	}
	return slices.Sorted(maps.Keys(files)), nil
}

func read(path string) (testFile, error) {
	f := testFile{make(map[string]bool), make(map[string]bool), make(map[string]bool)}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return f, err
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				f.declares[d.Name.Name] = true
			} else {
				ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						f.methods[id.Name] = true
					}
					return true
				})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					f.declares[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						f.declares[name.Name] = true
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			f.mentions[id.Name] = true
		}
		return true
	})
	return f, nil
}

func common(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}
