package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/redlatch/redlatch"

// moduleTypes has type-checked the module's packages from their source, so that a name is the same object
// wherever it is used. Of other packages it reads what the compiler says that they export.
type moduleTypes struct {
	fset    *token.FileSet
	ours    map[string]*types.Package // by import path
	foreign types.Importer
	usedBy  map[types.Object]map[string]bool // by which packages of the library and its tools, except its own
	shown   map[types.Object]bool            // by an example or a document
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir, Export string
	Module                  *struct{ Path string }
	GoFiles, XTestGoFiles   []string
}

// loadModule checks the packages in the order of their imports, and then the tests that have an Example.
func loadModule(t *testing.T) *moduleTypes {
	t.Helper()
	m := &moduleTypes{
		fset: token.NewFileSet(), ours: make(map[string]*types.Package),
		usedBy: make(map[types.Object]map[string]bool), shown: make(map[types.Object]bool),
	}
	exports := make(map[string]string)
	packages := listPackages(t)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	m.foreign = importer.ForCompiler(m.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list has not listed %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range packages {
		if p.Module == nil || p.Module.Path != module {
			continue
		}
		pkg, info, err := m.check(p.ImportPath, m.parse(t, p.Dir, p.GoFiles))
		if err != nil {
			t.Fatal(err)
		}
		m.ours[p.ImportPath] = pkg
		m.note(pkg, info)
	}
	for _, p := range packages {
		if m.ours[p.ImportPath] != nil {
			m.showExamples(p.ImportPath, m.parse(t, p.Dir, p.XTestGoFiles))
		}
	}
	return m
}

// listPackages lists the module's packages and all that they import, each after its imports.
func listPackages(t *testing.T) (found []listed) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,Module,GoFiles,XTestGoFiles", "./..."}
	for _, path := range imports { // of the documents
		if !strings.HasPrefix(path, module) {
			args = append(args, path)
		}
	}
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			t.Fatal(err)
		}
		found = append(found, p)
	}
}

func (m *moduleTypes) parse(t *testing.T, dir string, names []string) (files []*ast.File) {
	t.Helper()
	for _, name := range names {
		file, err := parser.ParseFile(m.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// Import implements [types.Importer].
func (m *moduleTypes) Import(path string) (*types.Package, error) {
	if pkg := m.ours[path]; pkg != nil {
		return pkg, nil
	}
	return m.foreign.Import(path)
}

// check goes on after an error, and returns the first one.
func (m *moduleTypes) check(path string, files []*ast.File) (*types.Package, *types.Info, error) {
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	var first error
	config := types.Config{Importer: m, Error: func(err error) {
		if first == nil {
			first = err
		}
	}}
	pkg, _ := config.Check(path, m.fset, files, info)
	return pkg, info, first
}

// note takes down what a package uses of others. A program in examples/ shows it to users.
func (m *moduleTypes) note(pkg *types.Package, info *types.Info) {
	if strings.HasPrefix(pkg.Path(), module+"/examples/") {
		m.show(info)
		return
	}
	for _, object := range info.Uses {
		m.use(pkg, origin(object))
	}
	m.noteInterfaces(pkg)
}

func (m *moduleTypes) use(by *types.Package, object types.Object) {
	if object.Pkg() == nil || object.Pkg() == by {
		return
	}
	if m.usedBy[object] == nil {
		m.usedBy[object] = make(map[string]bool)
	}
	m.usedBy[object][strings.TrimPrefix(by.Path(), module+"/")] = true
}

// noteInterfaces takes the methods by which a type implements an interface of another package for used by
// that package, which calls them by the interface. It compares pkg with the packages checked so far: a type
// may be declared before the interface or after it.
func (m *moduleTypes) noteInterfaces(pkg *types.Package) {
	for _, other := range m.ours {
		m.implement(pkg, other)
		if other != pkg {
			m.implement(other, pkg)
		}
	}
}

// implement looks for types of to that implement an interface of from.
func (m *moduleTypes) implement(from, to *types.Package) {
	for _, face := range declaredTypes(from) {
		under, ok := face.Underlying().(*types.Interface)
		if !ok || under.NumMethods() == 0 {
			continue
		}
		for _, t := range declaredTypes(to) {
			pointer := types.NewPointer(t)
			if types.IsInterface(t) || !types.Implements(pointer, under) {
				continue
			}
			methods := types.NewMethodSet(pointer)
			for method := range under.Methods() {
				m.use(from, origin(methods.Lookup(method.Pkg(), method.Name()).Obj()))
			}
		}
	}
}

// declaredTypes are the types that a package declares, without generic ones and aliases.
func declaredTypes(pkg *types.Package) (found []*types.Named) {
	for _, name := range pkg.Scope().Names() {
		declared, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if named, ok := declared.Type().(*types.Named); ok && !declared.IsAlias() && named.TypeParams() == nil {
			found = append(found, named)
		}
	}
	return found
}

// origin is the declared object of which a generic function, method or field is an instance.
func origin(object types.Object) types.Object {
	switch object := object.(type) {
	case *types.Func:
		return object.Origin()
	case *types.Var:
		return object.Origin()
	}
	return object
}

func (m *moduleTypes) show(info *types.Info) {
	for _, object := range info.Uses {
		m.shown[origin(object)] = true
	}
}

// showTypes shows the types of which a value of type t is made.
func (m *moduleTypes) showTypes(t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		m.shown[t.Obj()] = true
	case *types.Signature:
		m.showTypes(t.Params())
		m.showTypes(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			m.showTypes(v.Type())
		}
	case *types.Map:
		m.showTypes(t.Key())
		m.showTypes(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		m.showTypes(t.Elem())
	}
}

// showExamples shows what the files with an Example use. They do without names that only tests have, so
// errors about those do not matter.
func (m *moduleTypes) showExamples(path string, files []*ast.File) {
	files = slices.DeleteFunc(files, func(file *ast.File) bool {
		return !slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
			f, ok := decl.(*ast.FuncDecl)
			return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
		})
	})
	_, info, _ := m.check(path+"_test", files)
	m.show(info)
}

// showBlock shows what a document's code uses. A fragment does without the program around it.
func (m *moduleTypes) showBlock(b block) {
	file, err := parser.ParseFile(m.fset, b.String(), b.source(), parser.SkipObjectResolution)
	if err != nil {
		return // TestCode says so
	}
	_, info, _ := m.check(b.String(), []*ast.File{file})
	m.show(info)
}
